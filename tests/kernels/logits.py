"""Logits of every temper: ordinary, tied, almost all -inf, with NaN and infinities, far apart."""

from __future__ import annotations

import torch

SPECIALS = [float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 1.0, 3e4, -3e4]


def make_logits(values: str, shape: tuple[int, int], gen: torch.Generator) -> torch.Tensor:
    normal = torch.randn(shape, generator=gen) * 4
    if values == "ties":
        return normal.round()
    if values == "few finite":
        return normal.where(torch.rand(shape, generator=gen) < 0.05, float("-inf"))
    if values == "specials":
        pick = torch.randint(0, len(SPECIALS), shape, generator=gen)
        return torch.tensor(SPECIALS)[pick].where(torch.rand(shape, generator=gen) < 0.1, normal)
    if values == "constant":
        return torch.full(shape, SPECIALS[int(torch.randint(0, 6, (1,), generator=gen))])
    if values == "wide":
        return normal * 1000
    return normal
