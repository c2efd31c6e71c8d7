"""``logprobs`` over shards of the vocabulary: the bits of one GPU, wherever shards end."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import pytest
import torch

from kernels import sharded
from kernels.logprobs import logprobs
from kernels.sharded import together
from tests.kernels import test_logprobs
from tests.kernels.properties import DEVICE, property_test, same
from tests.kernels.shards import draw_bounds, shards_of
from tests.kernels.strategies import independent


@dataclass(frozen=True)
class Case:
    rows: test_logprobs.Case
    bounds: tuple[int, ...]


def draw(rng: Random) -> Case:
    rows = test_logprobs.draw(rng)
    # On a GPU few layouts, because each part of another kind is compiled anew.
    places = Random(rows.vocab) if DEVICE == "cuda" else rng
    return Case(rows, draw_bounds(places, rows.vocab, rows.chunk))


CASES = independent(draw)


def check(case: Case) -> None:
    from kernels.sharded.score import score_shard

    given = test_logprobs.inputs(case.rows)
    want = test_logprobs.run(given, chunk=case.rows.chunk, group=16)
    cut = (given["cut_logit"], given["cut_id"]) if case.rows.cut else None
    steps = [
        score_shard(
            own, given["token_ids"], given["k"], given["rows"], given["temperature"], cut, shard,
            chunk=case.rows.chunk, group=16,
        )
        for shard, own in shards_of(given["logits"], case.bounds)
    ]  # fmt: skip
    for rank, got in enumerate(together(steps)):
        for (name, value), expected in zip(vars(got).items(), want, strict=True):
            same(f"{name} of rank {rank} of {case.bounds}", value, expected)


test_shards_score_what_one_gpu_scores = property_test(CASES)(check)


@pytest.mark.parametrize("law", [False, True], ids=["kernels", "law"])
@pytest.mark.parametrize("bounds", [(0, 5000), (0, 4096, 5000), (0, 2500, 5000), (0, 9, 99, 5000)])
def test_the_op_itself(bounds: tuple[int, ...], law: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """In chunks of their own size, twice: the second time with launches that are known."""
    if law:
        if DEVICE != "cpu":
            pytest.skip("the law serves a CPU")
        monkeypatch.setattr("kernels._dispatch.interpreting", lambda: False)
    logits = torch.randn(3, 5000, generator=torch.Generator().manual_seed(3)).round().to(DEVICE)
    tokens = torch.tensor([4999, 2500, 0], device=DEVICE)
    for k in (0, 20, 64):
        want = logprobs(logits, tokens, k)
        for _again in range(2):
            steps = [
                sharded.logprobs_steps(own, tokens, k, shard)
                for shard, own in shards_of(logits, bounds)
            ]
            for got in together(steps):
                for name, value in vars(want).items():
                    same(name, getattr(got, name), value)


def test_no_rows() -> None:
    none = torch.zeros(0, dtype=torch.int64, device=DEVICE)
    steps = [
        sharded.logprobs_steps(own, none, 5, shard)
        for shard, own in shards_of(torch.zeros(0, 40, device=DEVICE), (0, 7, 40))
    ]
    assert [list(got.topk_ids.shape) for got in together(steps)] == [[0, 5], [0, 5]]
