"""Work that may be done in several processes at once; who starts those is not known here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class Spread(Protocol):
    """`work` of each item, in order."""

    def __call__(self, work: Callable[[T], R], items: Sequence[T]) -> list[R]: ...


def alone(work: Callable[[T], R], items: Sequence[T]) -> list[R]:
    """`Spread` without other processes."""
    return [work(item) for item in items]
