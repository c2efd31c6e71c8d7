"""Which functions of a file are sure to be asked for, said before it is read."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from checks.lang.ir.node import node


@node
class Wanted:
    """The functions that are sure to be asked for, by lines in them, in order: whether they are sound, and where
    `lowered` what they do."""

    lines: tuple[int, ...] = ()
    lowered: bool = True


NOTHING = Wanted()


def between(lines: Sequence[int], first: int, last: int) -> bool:
    """Whether one of `lines`, which are in order, is one of `first` to `last`."""
    place = bisect_left(lines, first)
    return place < len(lines) and lines[place] <= last
