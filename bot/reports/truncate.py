"""A report cut to a size.

It is cut only between its parts: never inside a character, a code fence, a table row or a list
item.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from bot.comment_text import utf16_length
from bot.i18n.catalog import Catalog
from bot.reports.blocks import Block, Code, Folded, Items, Table
from bot.reports.markdown import write

# Blank lines around the note and the tail.
_SPARE = 8
# A long block is tried at about this many lengths, so that cutting it stays linear in its size.
_MOST_STEPS = 64


def fit(blocks: Iterable[Block], limit: int, words: Catalog, *, tail: str = "") -> str:
    """The blocks as Markdown of at most `limit` UTF-16 units, ending in `tail`.

    Where something had to be left out, a note says so in its place; what comes after it and is
    short enough still stands.
    """
    note = words("report.truncated")
    room = limit - utf16_length(note) - utf16_length(tail) - _SPARE
    parts: list[str] = []
    is_cut = False
    for block in blocks:
        text = write(block)
        if utf16_length(text) + 2 > room:
            text = _longest_prefix(block, room)
            is_cut = True
        if text:
            parts.append(text)
            room -= utf16_length(text) + 2
        if is_cut and note not in parts:
            parts.append(note)
    if tail:
        parts.append(tail)
    return "\n\n".join(parts) + "\n"


def _longest_prefix(block: Block, room: int) -> str:
    """As much of a list, a table or a code block as fits, or an empty text where nothing does."""
    best = ""
    for smaller in _prefixes(block):
        text = write(smaller)
        if utf16_length(text) + 2 > room:
            break
        best = text
    return best


def _prefixes(block: Block) -> Iterator[Block]:
    """The block with its first row, item or line alone, then with more and more of them."""
    match block:
        case Items(items, _):
            for count in _lengths(len(items)):
                yield replace(block, items=items[:count])
        case Table(_, rows):
            for count in _lengths(len(rows)):
                yield replace(block, rows=rows[:count])
        case Folded(_, (inner,)):
            for smaller in _prefixes(inner):
                yield replace(block, blocks=(smaller,))
        case Folded(_, blocks):
            for count in _lengths(len(blocks)):
                yield replace(block, blocks=blocks[:count])
        case Code(lines):
            for count in _lengths(len(lines)):
                yield replace(block, lines=lines[:count])


def _lengths(count: int) -> range:
    return range(1, count, max(1, count // _MOST_STEPS))
