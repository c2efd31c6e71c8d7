"""Real vocabularies over shards: on one GPU, and over NCCL where there are two."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise

import pytest
import torch
from torch import multiprocessing

from kernels import sharded
from kernels.logprobs import Logprobs, logprobs
from kernels.sampling import sample
from kernels.sharded import Shard, together
from tests.kernels.conftest import gpu_only
from tests.kernels.properties import same

VOCAB = 151_936
LAYOUTS = [
    (torch.bfloat16, (0, VOCAB // 2, VOCAB)),
    (torch.bfloat16, (0, 38 * 2048, VOCAB)),
    (torch.float16, (0, 70_001, VOCAB + 1)),
    (torch.float32, (0, VOCAB // 2, VOCAB)),
    (torch.float8_e4m3fn, (0, VOCAB // 2, VOCAB)),
]
Draw = Callable[..., torch.Tensor]
Score = Callable[..., Logprobs]


def rows_of(dtype: torch.dtype, vocab: int) -> torch.Tensor:
    """The same on every device."""
    gen = torch.Generator().manual_seed(vocab)
    return (torch.randn(32, vocab, generator=gen) * 3).to(dtype).cuda()


def answers(logits: torch.Tensor, draw: Draw, score: Score) -> dict[str, torch.Tensor]:
    """What ``draw`` and ``score`` say of the rows, with a cut and without; ``logits`` are whole."""
    seeds = torch.arange(32, device="cuda")
    tokens = seeds * 4001 + logits.shape[1] - 31 * 4001 - 1
    warm = torch.tensor([0.0, 0.8, 1.0, 0.7] * 8, device="cuda")
    cut = (logits.float()[:, 123].contiguous(), torch.full((32,), 123, device="cuda"))
    found = {"tokens": draw(seeds, tokens, warm), "kept": draw(seeds, tokens, warm, cut=cut)}
    for k in (0, 20):
        raw = score(tokens, k)
        limited = score(tokens, k, temperature=warm, cut_logit=cut[0], cut_id=cut[1])
        found |= {f"{name} of {k}": value for name, value in vars(raw).items()}
        found |= {f"limited {name} of {k}": value for name, value in vars(limited).items()}
    return found


def compare(logits: torch.Tensor, draw: Draw, score: Score) -> None:
    """Shards give the bits of one GPU."""
    got = answers(logits, draw, score)
    want = answers(logits, partial(sample, logits), partial(logprobs, logits))
    for name, value in want.items():
        same(name, got[name], value)


@gpu_only
@pytest.mark.parametrize(("dtype", "bounds"), LAYOUTS, ids=str)
def test_on_one_gpu(dtype: torch.dtype, bounds: tuple[int, ...]) -> None:
    logits = rows_of(dtype, bounds[-1])
    ranks = [
        (Shard(bounds, i), logits[:, a:b].clone()) for i, (a, b) in enumerate(pairwise(bounds))
    ]

    def draw(seeds: torch.Tensor, at: torch.Tensor, warm: torch.Tensor, **cut: object) -> object:
        steps = [sharded.sample_steps(own, seeds, at, warm, shard, **cut) for shard, own in ranks]
        return together(steps)[1]

    def score(tokens: torch.Tensor, k: int, **limits: object) -> object:
        steps = [sharded.logprobs_steps(own, tokens, k, shard, **limits) for shard, own in ranks]
        return together(steps)[1]

    compare(logits, draw, score)


def _compare_over_group(dtype: torch.dtype, shard: Shard) -> None:
    logits = rows_of(dtype, shard.vocab)
    own = logits[:, shard.first : shard.bounds[shard.rank + 1]].clone()

    def draw(seeds: torch.Tensor, at: torch.Tensor, warm: torch.Tensor, **cut: object) -> object:
        return sharded.sample(own, seeds, at, warm, shard, **cut)

    def score(tokens: torch.Tensor, k: int, **limits: object) -> object:
        return sharded.logprobs(own, tokens, k, shard, **limits)

    compare(logits, draw, score)


def _rank(rank: int, port: int) -> None:
    from torch import distributed

    torch.cuda.set_device(rank)
    distributed.init_process_group(
        "nccl", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2
    )
    for dtype, bounds in LAYOUTS:
        _compare_over_group(dtype, Shard(bounds, rank))
    distributed.destroy_process_group()


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
def test_on_two_gpus() -> None:
    multiprocessing.spawn(_rank, (29_517,), nprocs=2)
