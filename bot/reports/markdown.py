"""GitHub-flavoured Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from bot.i18n.catalog import Catalog
from bot.i18n.escape import Markdown, cell, fence
from bot.reports.blocks import Block, Code, Folded, Heading, Items, Picture, Table, Text
from bot.reports.document import document
from bot.reports.report import Report


def render(report: Report, language: str) -> str:
    """The report as one Markdown document."""
    return write_document(document(report, Catalog(language, Markdown())))


def join(parts: Iterable[str]) -> str:
    """A document of these parts, with blank lines between."""
    return "\n\n".join(parts) + "\n"


def write(block: Block) -> str:
    """One block, without a blank line around it."""
    match block:
        case Heading(level, text):
            return f"{'#' * level} {text}"
        case Text(text):
            return text
        case Items(items, numbered):
            return "\n".join(_items(items, numbered))
        case Table(header, rows):
            lines = [_row(header), _row(("---",) * len(header)), *(_row(row) for row in rows)]
            return "\n".join(lines)
        case Code(lines, language, _, notes):
            return "\n".join([fence(lines, language), *_items(tuple(n for _, n in notes), False)])
        case Folded(title, blocks):
            inner = "\n\n".join(write(b) for b in blocks if not isinstance(b, Picture))
            return f"<details>\n<summary>{title}</summary>\n\n{inner}\n\n</details>"
        case Picture(_, alt):
            return alt


def write_document(blocks: Iterable[Block]) -> str:
    """A document of these blocks; pictures are left out, their tables say the same."""
    return join(write(b) for b in blocks if not isinstance(b, Picture))


def _items(items: tuple[str, ...], numbered: bool) -> Iterator[str]:
    for number, item in enumerate(items, 1):
        lead = f"{number}." if numbered else "-"
        # Indented, further lines stay in the item.
        text = item.replace("\n", "\n   ")
        yield f"{lead} {text}"


def _row(cells: tuple[str, ...]) -> str:
    escaped = [cell(text.replace("\n", " ")) for text in cells]
    return "| " + " | ".join(escaped) + " |"
