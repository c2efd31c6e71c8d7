"""How the ops draw their cases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import TypeVar

import torch
from hypothesis import strategies as st

Case = TypeVar("Case")
Item = TypeVar("Item")


def independent(build: Callable[[Random], Case]) -> st.SearchStrategy[Case]:
    """Cases that have nothing to do with each other: Hypothesis draws a seed, and `build` the rest
    from it.

    Of cases drawn field by field it makes five in six from an earlier one by repeating a part, in
    search of coincidences. Here these would test once more what is tested, at the interpreter's
    price.
    """
    return st.randoms(use_true_random=True).map(build)


def mostly(rng: Random, common: Sequence[Item], rare: Sequence[Item]) -> Item:
    """One of `rare` once in eight: large cases must occur, but they are most of the time that a run
    takes."""
    return rng.choice(rare if rng.random() < 1 / 8 else common)


def integers(gen: torch.Generator, dtype: torch.dtype = torch.int64) -> Callable[..., torch.Tensor]:
    """``ints(low, high, *shape)`` draws from low..high-1; with ``dtype=``, of another type than
    this one."""

    def ints(low: int, high: int, *shape: int, dtype: torch.dtype = dtype) -> torch.Tensor:
        return torch.randint(low, high, shape, generator=gen).to(dtype)

    return ints


def coin(rng: Random) -> bool:
    return rng.random() < 0.5
