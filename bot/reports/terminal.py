"""Plain text for a terminal, 80 columns where its width is not known; colour only on a terminal."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator
from unicodedata import category, east_asian_width

from bot.i18n.catalog import Catalog
from bot.i18n.escape import Plain, visible
from bot.reports.blocks import Block, Code, Folded, Heading, Items, Picture, Table, Text
from bot.reports.document import document
from bot.reports.report import Report

_WIDEST = 110
_RESET = "\x1b[0m"
_BOLD, _CYAN, _DIM = "\x1b[1m", "\x1b[36m", "\x1b[2m"
_MARKS = {"bug": "\x1b[1;31m", "suggestion": "\x1b[1;33m", "question": "\x1b[1;35m"}


def render(report: Report, language: str, *, unfold: bool = False) -> str:
    """The report for standard output as it is now; what is folded elsewhere only with `unfold`."""
    words = Catalog(language, Plain())
    blocks = list(document(report, words))
    if unfold:
        return write_for_terminal(blocks)
    shown = [block for block in blocks if not isinstance(block, Folded)]
    folded = [block.title.rstrip(":：") for block in blocks if isinstance(block, Folded)]
    if folded:
        shown.append(Text(words("report.unfold", titles=folded)))
    return write_for_terminal(shown)


def write_for_terminal(blocks: Iterable[Block]) -> str:
    """Any blocks for standard output as it is now: its width, and colour where it is a terminal."""
    return write_at_width(blocks, max(_width(), 40), colour=_wants_colour())


def _width() -> int:
    """`COLUMNS` where it is set, whatever reads the output; else the terminal's width."""
    if not os.environ.get("COLUMNS") and not sys.stdout.isatty():
        return 80
    return min(shutil.get_terminal_size((80, 24)).columns, _WIDEST)


def _wants_colour() -> bool:
    """`NO_COLOR` wins over `FORCE_COLOR`, and that over what the output is."""
    environ = os.environ
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR"):
        return environ["FORCE_COLOR"] != "0"
    return sys.stdout.isatty() and environ.get("TERM") != "dumb"


def text(report: Report, language: str, *, width: int = 80, colour: bool = False) -> str:
    """The report at a given width."""
    return write_at_width(document(report, Catalog(language, Plain())), width, colour=colour)


def write_at_width(blocks: Iterable[Block], width: int = 80, *, colour: bool = False) -> str:
    """Any blocks at a given width."""
    writer = _Writer(width, colour)
    text = ""
    for block in blocks:
        if isinstance(block, Picture):
            continue
        text += "\n".join(writer.write(block)) + "\n"
        # The line under a heading parts it from what follows.
        is_underlined = isinstance(block, Heading) and block.level == 2
        text += "" if is_underlined else "\n"
    return text.rstrip("\n") + "\n"


class _Writer:
    def __init__(self, width: int, colour: bool) -> None:
        self._width = width
        self._colour = colour

    def write(self, block: Block) -> Iterator[str]:
        """The lines of one block."""
        match block:
            case Heading(level, heading, mark):
                yield from self._heading(level, heading, mark)
            case Text(paragraphs):
                for line in paragraphs.split("\n"):
                    yield from self._wrap(line, "", "  " if line.startswith("- ") else "")
            case Items(items, numbered):
                for n, item in enumerate(items, 1):
                    lead = f"{n}. " if numbered else "- "
                    yield from self._wrap(item.replace("\n", " "), lead, " " * len(lead))
            case Table(header, rows):
                yield from self._table(header, rows)
            case Code():
                yield from self._code(block)
            case Folded(title, blocks):
                yield title
                for inner in blocks:
                    yield from self.write(inner)
            case Picture():
                return

    def _code(self, block: Code) -> Iterator[str]:
        for index, line in enumerate(block.lines):
            yield "    " + visible(line, keep="\t")
            for note in block.notes_on(index):
                yield from self._wrap(note, "    ^ ", "      ")

    def _heading(self, level: int, heading: str, mark: str) -> Iterator[str]:
        if level > 2:
            yield self._paint(heading, _MARKS.get(mark, _BOLD))
            return
        yield self._paint(heading, _BOLD)
        yield self._paint("─" * width_of(heading), _DIM)

    def _table(self, header: tuple[str, ...], rows: tuple[tuple[str, ...], ...]) -> Iterator[str]:
        widths = [max(width_of(row[i]) for row in (header, *rows)) for i in range(len(header))]
        if sum(widths) + 2 * (len(widths) - 1) > self._width:
            yield from self._stacked(header, rows)
            return
        yield self._paint(_aligned(header, widths), _DIM)
        for row in rows:
            yield self._coded(_aligned(row, widths))

    def _stacked(self, header: tuple[str, ...], rows: tuple[tuple[str, ...], ...]) -> Iterator[str]:
        """Rows too wide for one line: the last cell on a line of its own, below the others."""
        yield self._paint(" · ".join(h for h in header if h), _DIM)
        for row in rows:
            yield from self._wrap("  ".join(c for c in row[:-1] if c), "", "    ")
            if row[-1]:
                yield from self._wrap(row[-1], "    ", "    ")

    def _wrap(self, line: str, first: str, rest: str) -> Iterator[str]:
        for wrapped in wrap(line, self._width, first, rest):
            yield self._coded(wrapped)

    def _coded(self, line: str) -> str:
        return re.sub(r"`([^`]+)`", rf"{_CYAN}\1{_RESET}", line) if self._colour else line

    def _paint(self, line: str, code: str) -> str:
        return f"{code}{line}{_RESET}" if self._colour else line


def _aligned(row: tuple[str, ...], widths: list[int]) -> str:
    cells = []
    for cell, width in zip(row, widths, strict=True):
        padding = " " * (width - width_of(cell))
        cells.append(cell + padding)
    return "  ".join(cells).rstrip()


def width_of(line: str) -> int:
    """How many columns a terminal gives to `line`."""
    return sum(_columns(c) for c in line)


def _columns(char: str) -> int:
    if category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if east_asian_width(char) in "WF" else 1


def wrap(line: str, width: int, first: str = "", rest: str = "") -> list[str]:
    """`line` in lines of at most `width` columns.

    It breaks at blanks and beside wide characters, and a word that is longer than a line stays
    whole, so that paths can be copied.
    """
    lines: list[str] = []
    current, used, empty = first, width_of(first), True
    for word in _words(line):
        columns = width_of(word.rstrip(" "))
        if used + columns > width and not empty:
            lines.append(current.rstrip())
            current, used, empty = rest, width_of(rest), True
        current += word
        used += width_of(word)
        empty = False
    lines.append(current.rstrip())
    return lines


# Text is broken at blanks and beside wide characters. What may not start a line in Chinese stays
# with the piece before it, and an opening bracket with the one after it.
_WIDE = r"\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef"
_CLOSING = "，。；：、！？）」】"
_PIECE = re.compile(rf"[（「【]*(?:[{_WIDE}]|[^\s{_WIDE}（「【]+)[{_CLOSING}]*\s*|[（「【]+|\s+")


def _words(line: str) -> list[str]:
    return _PIECE.findall(line)
