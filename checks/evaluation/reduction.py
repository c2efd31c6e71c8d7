"""Delta debugging: the parts of something that are needed for a property to hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

Part = TypeVar("Part")


def needed_parts(parts: Sequence[Part], holds: Callable[[Sequence[Part]], bool]) -> list[Part]:
    """Parts, in their order, of which none can be left out alone without losing the property.

    `holds` says whether some of the parts have it; all of them must. The algorithm is ddmin (Zeller
    and Hildebrandt 2002), without its step that tries single chunks: what is left out here is
    larger by far than what stays.
    """
    left = list(parts)
    chunks = 2
    while left:
        size = max(1, len(left) // chunks)
        smaller = _without_a_chunk(left, size, holds)
        if smaller is not None:
            left = smaller
            chunks = max(2, chunks - 1)
        elif size == 1:
            return left
        else:
            chunks = min(len(left), chunks * 2)
    return left


def _without_a_chunk(
    parts: list[Part], size: int, holds: Callable[[Sequence[Part]], bool]
) -> list[Part] | None:
    """The parts without the first run of `size` that can go; None where none can."""
    for start in range(0, len(parts), size):
        rest = parts[:start] + parts[start + size :]
        if holds(rest):
            return rest
    return None
