"""A report cut to a size, between its parts: never inside a character, a fence, a table row or a list item."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from bot.i18n.catalog import Catalog
from bot.reports.blocks import Block, Code, Folded, Items, Table
from bot.reports.markdown import write


def fit(blocks: Iterable[Block], limit: int, words: Catalog, *, tail: str = "") -> str:
    """The blocks as Markdown of at most `limit` UTF-16 units, ending in `tail`; a note says where it was cut."""
    note = words("report.truncated")
    room = limit - size(note) - size(tail) - 8
    parts: list[str] = []
    for block in blocks:
        text = write(block)
        if size(text) + 2 <= room:
            parts.append(text)
            room -= size(text) + 2
            continue
        part = _shorter(block, room)
        parts += [part, note] if part else [note]
        break
    return "\n\n".join([*parts, tail] if tail else parts) + "\n"


def size(text: str) -> int:
    """UTF-16 units, as GitHub counts them."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def _shorter(block: Block, room: int) -> str:
    """As much of a list, a table or a code block as fits, empty where nothing does."""
    best = ""
    for smaller in _prefixes(block):
        text = write(smaller)
        if size(text) + 2 > room:
            break
        best = text
    return best


def _prefixes(block: Block) -> Iterator[Block]:
    """The block with one row, item or line, with two, and so on, in steps that keep the work linear."""
    match block:
        case Items(items, _):
            yield from (replace(block, items=items[:n]) for n in _steps(len(items)))
        case Table(_, rows):
            yield from (replace(block, rows=rows[:n]) for n in _steps(len(rows)))
        case Folded(_, (inner,)):
            yield from (replace(block, blocks=(smaller,)) for smaller in _prefixes(inner))
        case Code(lines, _):
            yield from (replace(block, lines=lines[:n]) for n in _steps(len(lines)))


def _steps(count: int) -> range:
    return range(1, count, max(1, count // 64))
