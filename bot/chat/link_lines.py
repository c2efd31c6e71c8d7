"""Which lines of a paragraph stand in the text, the address or the title of a link, or belong to
its definition: `[name]: address "title"` is shown nowhere."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate

_MARK = re.compile(r"\\.|[\[\]]")
# Behind marks of lists and quotations.
_BEGINS_DEFINITION = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t>]+)*\[")


def lines_in_links(lines: Sequence[str], paragraph: Sequence[int]) -> Iterator[int]:
    """Those of the numbers in `paragraph` whose line begins within a link.

    An address may have brackets and its title anything, so that it is taken to go on to the
    paragraph's last bracket. The text of a link is shown, but that of a picture is not; both are
    taken for the same.
    """
    yield from _in_text(lines, paragraph)
    yield from _behind_definition(lines, paragraph)
    yield from _in_address(lines, paragraph)


def _in_text(lines: Sequence[str], paragraph: Sequence[int]) -> Iterator[int]:
    """Lines between a `[` and the `]` that closes it."""
    begun: list[int] = []
    # How many more such parts there are at a line than at the one before it.
    more = [0] * (len(paragraph) + 1)
    for place, number in enumerate(paragraph):
        for mark in _MARK.findall(lines[number]):
            if mark == "[":
                begun.append(place)
            elif mark == "]" and begun:
                more[begun.pop() + 1] += 1
                more[place + 1] -= 1
    depths = accumulate(more)
    yield from (number for number, depth in zip(paragraph, depths, strict=False) if depth)


def _behind_definition(lines: Sequence[str], paragraph: Sequence[int]) -> Iterator[int]:
    """Lines behind the `]:` of a definition."""
    begun = False
    for place, number in enumerate(paragraph):
        begun = begun or _BEGINS_DEFINITION.match(lines[number]) is not None
        if begun and "]:" in lines[number]:
            yield from paragraph[place + 1 :]
            return


def _in_address(lines: Sequence[str], paragraph: Sequence[int]) -> Iterator[int]:
    """Lines behind a `](`, as far as the last `)`."""
    begins = [place for place, number in enumerate(paragraph) if "](" in lines[number]]
    ends = [place for place, number in enumerate(paragraph) if ")" in lines[number]]
    if begins and ends:
        yield from paragraph[begins[0] + 1 : ends[-1] + 1]
