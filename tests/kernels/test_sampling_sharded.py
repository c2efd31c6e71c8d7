"""``sample`` over shards of the vocabulary: the bits of one GPU, wherever shards end."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest
import torch
from torch import multiprocessing

from kernels import sharded
from kernels.sampling import sample
from kernels.sharded import Shard, together
from tests.kernels import test_sampling
from tests.kernels.properties import DEVICE, property_test, same
from tests.kernels.shards import draw_bounds, shards_of, two_ranks
from tests.kernels.strategies import coin, independent


@dataclass(frozen=True)
class Case:
    rows: test_sampling.Case
    bounds: tuple[int, ...]
    cut: bool


def draw(rng: Random) -> Case:
    rows = test_sampling.draw(rng)
    # On a GPU few layouts, because each part of another kind is compiled anew.
    places = Random(rows.chunk) if DEVICE == "cuda" else rng
    return Case(rows, draw_bounds(places, rows.vocab, rows.chunk), coin(rng))


CASES = independent(draw)


def check(case: Case) -> None:
    from kernels.sampling.draw import sample_triton
    from kernels.sharded.draw import sample_shard

    given = test_sampling.inputs(case.rows)
    logits, stream, chunk = given["logits"], case.rows.stream, case.rows.chunk
    where = [given[name] for name in ("seeds", "positions", "temperature")]
    cut = None
    if case.cut:
        last = torch.arange(len(logits), device=DEVICE) * 7 % case.rows.vocab
        cut = (logits.float().gather(1, last[:, None])[:, 0].nan_to_num(0.5), last)
    want = sample_triton(logits, *where, cut, stream, chunk=chunk)
    steps = [
        sample_shard(own, *where, cut, stream, shard, chunk=chunk)
        for shard, own in shards_of(logits, case.bounds)
    ]
    for rank, got in enumerate(together(steps)):
        same(f"tokens of rank {rank} of {case.bounds}", got, want)


test_shards_draw_what_one_gpu_draws = property_test(CASES)(check)

LOGITS = torch.randn(3, 5000, generator=torch.Generator().manual_seed(3)).bfloat16().to(DEVICE)
SEEDS = torch.arange(3, device=DEVICE)
WARM = torch.tensor([0.0, 0.7, 1.0], device=DEVICE)


@pytest.fixture(params=[False, True], ids=["kernels", "law"])
def _side(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernels, and on a CPU the law as well."""
    if request.param:
        if DEVICE != "cpu":
            pytest.skip("the law serves a CPU")
        monkeypatch.setattr("kernels._dispatch.interpreting", lambda: False)


@pytest.mark.usefixtures("_side")
@pytest.mark.parametrize("bounds", [(0, 5000), (0, 2048, 5000), (0, 2500, 5000), (0, 9, 99, 5000)])
def test_the_op_itself(bounds: tuple[int, ...]) -> None:
    """In chunks of their own size, twice: the second time with launches that are known."""
    want = sample(LOGITS, SEEDS, SEEDS, WARM)
    for _again in range(2):
        steps = [
            sharded.sample_steps(own, SEEDS, SEEDS, WARM, shard)
            for shard, own in shards_of(LOGITS, bounds)
        ]
        for got in together(steps):
            same("tokens", got, want)


@pytest.mark.parametrize(
    ("bounds", "rank", "text"),
    [
        ((0, 5000), 1, r"shard\.rank must be in 0\.\.0, got 1"),
        ((0, 2000, 5000), 0, "must have the 2000 columns of the shard, got 5000"),
        ((1, 5000), 0, "must begin at 0 and increase"),
        ((0, 5000, 5000), 0, "must begin at 0 and increase"),
        ((0,), 0, "must begin at 0 and increase"),
    ],
)
def test_shards_that_do_not_fit_are_refused(bounds: tuple[int, ...], rank: int, text: str) -> None:
    shard = Shard(bounds, rank)
    with pytest.raises(ValueError, match=text):
        sharded.sample_steps(LOGITS, SEEDS, SEEDS, WARM, shard)
    with pytest.raises(ValueError, match=text):
        sharded.logprobs_steps(LOGITS, SEEDS, 5, shard)


def test_no_rows() -> None:
    steps = [
        sharded.sample_steps(own[:0], SEEDS[:0], SEEDS[:0], WARM[:0], shard)
        for shard, own in shards_of(LOGITS, (0, 99, 5000))
    ]
    assert [got.tolist() for got in together(steps)] == [[], []]


def test_two_processes(tmp_path: Path) -> None:
    multiprocessing.spawn(two_ranks, (str(tmp_path),), nprocs=2)
    for rank in range(2):
        got = torch.load(tmp_path / f"{rank}.pt")
        for name, value in torch.load(tmp_path / "whole.pt").items():
            same(f"{name} of rank {rank}", got[name], value)
