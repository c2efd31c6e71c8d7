"""Logits of every temper: ordinary, tied, almost all -inf, with NaN and infinities, far apart."""

from __future__ import annotations

import mmap

import torch

from tests.kernels.properties import DEVICE

# Where rows may begin; the interpreter reads all of them alike.
PLACES = range(8) if DEVICE == "cuda" else (0, 3)

EIGHT_BITS = [torch.float8_e4m3fn, torch.float8_e5m2]
DTYPES = [torch.bfloat16, torch.float16, torch.float32, *EIGHT_BITS]

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


def rows_from(values: torch.Tensor, before: int) -> torch.Tensor:
    """A copy of the rows of ``values`` [R, V] on the device, with NaN around them: the first begins
    ``before`` elements after 16 bytes, the next ones wherever an odd distance brings them."""
    rows, vocab = values.shape
    apart = vocab | 1
    memory = torch.full((8 + rows * apart + 8,), float("nan"), dtype=values.dtype, device=DEVICE)
    moved = memory.as_strided((rows, vocab), (apart, 1), before)
    moved.copy_(values)
    return moved


def far_rows(values: torch.Tensor) -> torch.Tensor:
    """bfloat16 copies of the rows of ``values`` [3, V], 2**30 elements apart: the last starts at
    2**31.

    Nearly all of it is address space that nothing touches. There is as much before the first row,
    so that an offset that wrapped around reads zeros and not another process's memory.
    """
    apart = 1 << 30
    room = (1 << 32) + (1 << 12)
    if DEVICE == "cuda":
        memory = torch.zeros(room, dtype=torch.bfloat16, device=DEVICE)
    else:
        memory = torch.frombuffer(mmap.mmap(-1, 2 * room), dtype=torch.bfloat16)
    rows = memory.as_strided(tuple(values.shape), (apart, 1), 1 << 31)
    rows.copy_(values)
    return rows
