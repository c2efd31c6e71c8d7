"""Several chunks a program, as only large batches have them: the answers are those of one chunk a
program."""

from __future__ import annotations

import pytest
import torch

from kernels.logprobs import merge, stream
from kernels.logprobs.reference import logprobs_reference
from kernels.sampling import RECOVER, draw
from kernels.verify import residual, stats
from kernels.verify.strategy import Strategy
from kernels.verify.triton import verify_triton
from tests.kernels import test_logprobs, verify_cases
from tests.kernels.properties import DEVICE, for_the_law, same


@pytest.mark.parametrize(("at_once", "chunks"), [(1, 2), (4, 5)])
def test_rows_that_are_scored(monkeypatch: pytest.MonkeyPatch, at_once: int, chunks: int) -> None:
    monkeypatch.setattr(stream, "AT_ONCE", at_once)
    monkeypatch.setattr(stream, "multiprocessors", lambda device: 1)
    assert stream._chunks_per_program(2, 10, 1) == chunks
    case = test_logprobs.Case(
        2, 600, 20, torch.bfloat16, "normal", False, False, True, False, 64, at_once
    )
    given = test_logprobs.inputs(case)
    got = test_logprobs.run(given, chunk=64, group=16)
    test_logprobs.compare(got, logprobs_reference(**for_the_law(given)))


@pytest.mark.parametrize("values", ["constant", "ties", "normal"])
def test_more_ties_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch, values: str) -> None:
    """As in a real vocabulary, whose chunks are more than are looked at together."""
    monkeypatch.setattr(merge, "ROUND", 4)
    monkeypatch.setattr(merge, "ROOM", 32)
    case = test_logprobs.Case(2, 600, 20, torch.bfloat16, values, False, False, True, False, 64, 11)
    given = test_logprobs.inputs(case)
    got = test_logprobs.run(given, chunk=64, group=16)
    test_logprobs.compare(got, logprobs_reference(**for_the_law(given)))


@pytest.mark.parametrize("strategy", [Strategy.BLOCK, Strategy.TARGET_MATCH])
def test_rows_that_are_verified(monkeypatch: pytest.MonkeyPatch, strategy: Strategy) -> None:
    dense = None if strategy == Strategy.TARGET_MATCH else 70
    case = verify_cases.Case(
        strategy, 2, 2, 70, dense, torch.bfloat16, "flat", 0.6, False, False, False, 16, 5
    )
    given = verify_cases.make_inputs(case)
    alone = verify_triton(given, chunk=16)
    monkeypatch.setattr(stats, "chunks_per_program", lambda rows, chunks, most: most)
    monkeypatch.setattr(residual, "PROGRAMS", 1)
    together = verify_triton(given, chunk=16)
    same("tokens", together[0], alone[0])
    same("counts", together[1], alone[1])


def test_rows_that_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    logits = torch.randn(4, 300, generator=torch.Generator().manual_seed(3)).to(DEVICE)
    seeds = torch.arange(4, device=DEVICE)
    given = (logits, seeds, seeds, torch.full((4,), 0.8, device=DEVICE), None, RECOVER)
    alone = draw.sample_triton(*given, chunk=64)
    monkeypatch.setattr(draw, "chunks_per_program", lambda rows, chunks, most: most)
    same("tokens", draw.sample_triton(*given, chunk=64), alone)
