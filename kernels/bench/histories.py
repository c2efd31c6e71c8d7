"""Histories as serving sees them: text repeats itself, random numbers do not."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import torch

TOKENS = 50_000
PERIOD = 50

KINDS = ("random", "Zipf", "period 50", "constant", "source code")


def histories_of(kind: str, rows: int, length: int, seed: int) -> torch.Tensor:
    """int32 [rows, length] of one of ``KINDS``; ValueError for another."""
    gen = torch.Generator(device="cuda").manual_seed(seed)
    if kind == "random":
        history = torch.randint(0, TOKENS, (rows, length), generator=gen, device="cuda")
    elif kind == "Zipf":
        rank = torch.arange(1, TOKENS + 1, device="cuda", dtype=torch.float32)
        drawn = torch.multinomial(1 / rank, rows * length, replacement=True, generator=gen)
        history = drawn.view(rows, length)
    elif kind == "period 50":
        period = torch.randint(0, TOKENS, (rows, PERIOD), generator=gen, device="cuda")
        history = period.repeat(1, -(-length // PERIOD))[:, :length]
    elif kind == "constant":
        history = torch.full((rows, length), 7, device="cuda")
    elif kind == "source code":
        words = torch.tensor(_words_of_sources(), device="cuda")
        start = torch.randint(0, len(words), (rows, 1), generator=gen, device="cuda")
        history = words[(start + torch.arange(length, device="cuda")) % len(words)]
    else:
        raise ValueError(f"no such kind of histories: {kind}")
    return history.int()


@cache
def _words_of_sources() -> list[int]:
    """This package's own sources, word by word and mark by mark, as numbers."""
    folder = Path(__file__).resolve().parents[1]
    ids: dict[str, int] = {}
    found = []
    for path in sorted(folder.rglob("*.py")):
        for word in re.findall(r"\w+|\s+|[^\w\s]", path.read_text("utf-8")):
            found.append(ids.setdefault(word, len(ids)))
    return found
