"""Vocabularies divided among ranks, whose shards stand in one process."""

from __future__ import annotations

import os
from itertools import pairwise
from random import Random

import torch

from kernels import sharded
from kernels.logprobs import logprobs
from kernels.sampling import sample
from kernels.sharded import Shard

Shards = list[tuple[Shard, torch.Tensor]]


def draw_bounds(rng: Random, vocab: int, chunk: int) -> tuple[int, ...]:
    """Of one to four ranks: at multiples of ``chunk``, anywhere, or equal parts."""
    ranks = min(vocab, rng.choice([1, 2, 2, 3, 4]))
    inner = set(rng.sample(range(1, vocab), ranks - 1))
    kind = rng.choice(["chunks", "anywhere", "equal"])
    if kind == "chunks":
        inner = {bound // chunk * chunk for bound in inner} - {0}
    if kind == "equal":
        inner = {vocab * rank // ranks for rank in range(1, ranks)}
    return (0, *sorted(inner), vocab)


def shards_of(logits: torch.Tensor, bounds: tuple[int, ...]) -> Shards:
    """Each rank's columns, as views and copies in turn."""
    found = []
    for rank, (start, end) in enumerate(pairwise(bounds)):
        own = logits[:, start:end]
        found.append((Shard(bounds, rank), own.clone() if rank % 2 else own))
    return found


def two_ranks(rank: int, folder: str) -> None:
    """What one of two processes does, by the law: what is tested is who carries it."""
    from torch import distributed

    os.environ.pop("TRITON_INTERPRET", None)
    distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=2
    )
    logits = torch.randn(3, 5000, generator=torch.Generator().manual_seed(3)).bfloat16()
    seeds, warm = torch.arange(3), torch.tensor([0.0, 0.7, 1.0])
    shard, own = shards_of(logits, (0, 2500, 5000))[rank]
    tokens = sharded.sample(own, seeds, seeds, warm, shard)
    scored = sharded.logprobs(own, seeds, 5, shard)
    torch.save({"tokens": tokens, **vars(scored)}, f"{folder}/{rank}.pt")
    if rank == 0:
        tokens, scored = sample(logits, seeds, seeds, warm), logprobs(logits, seeds, 5)
        torch.save({"tokens": tokens, **vars(scored)}, f"{folder}/whole.pt")
    distributed.destroy_process_group()
