"""Logits as serving sees them: an op's speed on random rows alone says little about the others."""

from __future__ import annotations

import torch

from ..cases._case import VOCAB

KINDS = (
    "random",
    "flat",
    "integers",
    "constant",
    "1,000 finite",
    "1,000 finite in a block",
    "one flat row",
)


def random_logits(*shape: int, seed: int) -> torch.Tensor:
    """bfloat16, standard deviation 3."""
    gen = torch.Generator(device="cuda").manual_seed(seed)
    return (torch.randn(shape, generator=gen, device="cuda") * 3).bfloat16()


def logits_of(kind: str, rows: int, seed: int, dtype: torch.dtype = torch.bfloat16) -> torch.Tensor:
    """[rows, VOCAB] of one of ``KINDS``; ValueError for another."""
    gen = torch.Generator(device="cuda").manual_seed(seed)
    x = torch.randn(rows, VOCAB, generator=gen, device="cuda") * 3
    if kind == "flat":
        x *= 0.01
    elif kind == "integers":
        x = x.round()
    elif kind == "constant":
        x.zero_()
    elif kind == "1,000 finite":  # a grammar's mask
        kept = torch.rand(rows, VOCAB, generator=gen, device="cuda").topk(1000, dim=1).indices
        x = torch.full_like(x, float("-inf")).scatter_(1, kept, x.gather(1, kept))
    elif kind == "1,000 finite in a block":
        x[:, :70_000] = float("-inf")
        x[:, 71_000:] = float("-inf")
    elif kind == "one flat row":
        x[:, 777] = 40
        x[0] *= 0.01
    elif kind != "random":
        raise ValueError(f"no such kind of logits: {kind}")
    return x.to(dtype)
