"""What two sequences have in common."""

from __future__ import annotations

from collections.abc import Sequence


def count_common_start(first: Sequence[str], second: Sequence[str]) -> int:
    """How many first items (of two strings: letters) are the same."""
    count = 0
    for a, b in zip(first, second, strict=False):
        if a != b:
            break
        count += 1
    return count
