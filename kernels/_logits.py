"""How every op reads logits, in plain PyTorch; ``_device.py`` is the same for kernels."""

from __future__ import annotations

import torch

LARGEST = torch.finfo(torch.float32).max
COLDEST = torch.finfo(torch.float32).tiny
WARMEST = 2.0**100


def read_temperature(temperature: torch.Tensor) -> torch.Tensor:
    """float32 as every kernel reads a temperature: 0 (greedy) for what is not a normal positive
    number (negative, subnormal, NaN), at most 2**100 for the rest."""
    usable = temperature >= COLDEST  # false for NaN
    return torch.where(usable, temperature.clamp(max=WARMEST), 0.0)


def processed_logits(
    logits: torch.Tensor,  # [R, V], any float type
    cut_logit: torch.Tensor | None = None,  # float32 [R]
    cut_id: torch.Tensor | None = None,  # int64 [R]
) -> torch.Tensor:
    """float32 [R, V] as every kernel reads a logit: NaN as -inf, +inf as the largest float32, cut
    tokens -inf."""
    x = logits.float()
    x = torch.where(x.isnan(), float("-inf"), x) + 0.0  # -0.0 becomes 0.0: they tie
    x = x.clamp(max=LARGEST)
    if cut_logit is not None and cut_id is not None:
        token = torch.arange(x.shape[1], device=x.device)
        cut_logit = cut_logit.clamp(max=LARGEST)
        tied = (x == cut_logit[:, None]) & (token[None, :] <= cut_id[:, None])
        x = torch.where((x > cut_logit[:, None]) | tied, x, float("-inf"))
    return x


def probabilities(
    logits: torch.Tensor,  # [R, V], any float type
    temperature: torch.Tensor,  # float32 [R], 0 for all mass on the best token
    cut_logit: torch.Tensor | None = None,  # float32 [R]
    cut_id: torch.Tensor | None = None,  # int64 [R]
) -> torch.Tensor:
    """float64 [R, V] summing to 1; all zeros in a row without a finite logit whose temperature is
    not 0."""
    x = processed_logits(logits, cut_logit, cut_id).double()
    temperature = read_temperature(temperature)
    best = torch.zeros_like(x).scatter_(1, first_best(x)[:, None], 1.0)
    top = x.amax(dim=1, keepdim=True)
    origin = torch.where(top == float("-inf"), 0.0, top)
    scale = torch.where(temperature == 0, 1.0, temperature.double())
    weight = ((x - origin) / scale[:, None]).exp()
    total = weight.sum(dim=1, keepdim=True)
    soft = torch.where(total > 0, weight / total.clamp(min=1e-300), 0.0)
    return torch.where(temperature[:, None] == 0, best, soft)


def first_best(x: torch.Tensor) -> torch.Tensor:
    """int64 [R]: the lowest id among the largest logits; ``argmax`` leaves the order of ties
    open."""
    return (x == x.amax(dim=1, keepdim=True)).int().argmax(dim=1)
