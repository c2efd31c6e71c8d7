"""Calls that look alike share their checks and launches, and no other calls do."""

from __future__ import annotations

import pytest
import torch

from kernels._launch import launcher_of
from kernels.sampling import sample, top_k_top_p_sample
from tests.kernels.conftest import gpu_only
from tests.kernels.properties import DEVICE, same

X = torch.zeros(4, 32)


@pytest.mark.parametrize(
    "other",
    [
        X[:2],
        X.half(),
        X.int(),
        torch.zeros(4, 33)[:, :32],
        torch.zeros(4, 64)[:, ::2],
        torch.zeros(129)[1:].view(4, 32),
        X.to_sparse(),
        X.to("meta"),
        None,
        1,
    ],
)
def test_calls_that_differ_are_told_apart(other: object) -> None:
    assert launcher_of("op", (X, 1)) is launcher_of("op", (torch.ones(4, 32), 1))
    assert launcher_of("op", (X, 1)) is not launcher_of("op", (other, 1))
    assert launcher_of("op", (X, 1)) is not launcher_of("another op", (X, 1))


def test_a_truth_is_no_number() -> None:
    """``True == 1``, and no op takes it for one."""
    assert launcher_of("op", (1,)) is not launcher_of("op", (True,))
    assert launcher_of("op", (1,)) is not launcher_of("op", (1.0,))


def test_what_no_op_takes_is_checked_every_time() -> None:
    for _again in range(2):
        with pytest.raises(TypeError, match="logits must be a tensor, got list"):
            sample([[1.0]], X[0].long(), X[0].long(), X[0])


def test_a_call_that_was_refused_is_refused_again() -> None:
    for _again in range(2):
        with pytest.raises(ValueError, match="seeds must have shape"):
            sample(X, torch.zeros(3, dtype=torch.int64), X[:, 0].long(), X[:, 0])


@pytest.mark.parametrize("vocab", [300, 304])
def test_the_same_call_again_gives_the_same(vocab: int) -> None:
    """Over other tensors, some of them at addresses that are less aligned, as the first time."""
    gen = torch.Generator().manual_seed(vocab)
    values = torch.randn(4, vocab, generator=gen).bfloat16()
    seeds, warm = torch.arange(4, device=DEVICE), torch.full((4,), 0.8, device=DEVICE)
    k, p = torch.tensor([0, 5, 40, 0], device=DEVICE), torch.full((4,), 0.9, device=DEVICE)
    found = []
    for offset in (0, 0, 1, 1, 8):
        room = torch.zeros(4 * vocab + 8, dtype=torch.bfloat16, device=DEVICE)
        logits = room[offset : offset + 4 * vocab].view(4, vocab)
        logits.copy_(values)
        found.append(top_k_top_p_sample(logits, seeds, seeds, warm, k, p))
        found[-1] += (sample(logits, seeds, seeds, warm),)
    for again in found[1:]:
        for name, got, want in zip(("token", "logit", "id", "all"), again, found[0], strict=True):
            same(name, got, want)


@gpu_only
def test_a_known_call_runs_on_the_current_stream() -> None:
    logits = torch.randn(4, 304, device="cuda")
    seeds, warm = torch.arange(4, device="cuda"), torch.ones(4, device="cuda")
    want = [sample(logits, seeds, seeds, warm) for _ in range(2)][1]
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(10_000_000)
        moved = logits.clone()
        got = sample(moved, seeds, seeds, warm)
    stream.synchronize()
    same("tokens", got, want)
