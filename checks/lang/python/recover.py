"""A module out of a file that does not parse: what is intact is kept, at its own lines.

The file is cut at its left margin; in each piece that fails, the lines that Python refuses are
replaced by something of the same indentation that it accepts, until the piece parses. What was
replaced is remembered and never read as code.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from itertools import pairwise

from checks.lang.ir.source_file import Ranges, join_ranges
from checks.lang.python.syntax import Outline, Syntax, examine
from checks.lang.python.text import REFUSED, SourceText, parse

# Characters read again and again in search of errors, over the whole file: about half a second.
_BUDGET = 2_000_000
# Lines above and below that are looked at for the indentation around a line.
_NEAR = 50
_CONFLICT = re.compile(r"<{7} |={7}$|>{7} |\|{7} ")
_HEADER = re.compile(r"\s*(?:async\s+)?(def|class|if|elif|for|while|with|except|match)\b\s*(\w*)")
_MARGIN = re.compile(r"(?:async\s+def|def|class|@)\b")
_EMPTY_BLOCK = re.compile(r"expected an indented block after .* on line (\d+)")


@dataclass
class Recovered:
    """`broken` maps the first line of each replaced piece to its text; `ranges` are those lines."""

    module: ast.Module
    broken: dict[int, str] = field(default_factory=dict)
    ranges: Ranges = ()


def recover(source: SourceText) -> Recovered:
    """Whatever of `source` can be read. Never raises on any text."""
    return _Repair(source).run()


class _Repair:
    def __init__(self, source: SourceText) -> None:
        self.original = source.lines
        self.lines = list(source.lines)
        self.broken: dict[int, int] = {}
        self.budget = _BUDGET
        self.syntax = Syntax()

    def run(self) -> Recovered:
        for number, line in enumerate(self.lines, 1):
            if _CONFLICT.match(line):
                self._replace(number, number, "")
        self.syntax = examine("\n".join(self.lines))
        for number, start, end in self.syntax.generics:
            data = self.lines[number - 1].encode()
            blank = data[:start] + b" " * (end - start) + data[end:]
            self.lines[number - 1] = blank.decode("utf-8", "replace")
        for first, last in self.syntax.foreign:
            self._replace(first, last, "pass")
        body: list[ast.stmt] = []
        starts = [line for line in self.syntax.starts if not self._slipped_out(line)]
        edges = sorted({1, *starts, len(self.lines) + 1})
        for first, after in pairwise(edges):
            body += self._piece(first, after - 1)
        ranges = tuple(sorted(self.broken.items()))
        texts = {first: "\n".join(self.original[first - 1 : last]) for first, last in ranges}
        return Recovered(ast.Module(body, []), texts, join_ranges(ranges))

    def _slipped_out(self, line: int) -> bool:
        """Whether the statement at the margin belongs to the indented block around it."""
        if self.syntax.simple.get(line) != (line, line):
            return False
        before = _first_text(self.lines[max(0, line - _NEAR) : line - 1][::-1])
        after = _first_text(self.lines[line : line + _NEAR])
        return _indent(before) > 0 and _indent(after) > 0

    def _piece(self, first: int, last: int) -> list[ast.stmt]:
        """The statements of lines `first`..`last`, with what Python refuses replaced."""
        if not any(line.strip() for line in self.lines[first - 1 : last]):
            return []
        # The piece is parsed behind so many empty lines, each of which Python reads too.
        size = sum(map(len, self.lines[first - 1 : last])) + first
        while True:
            try:
                return self._parse(first, last)
            except SyntaxError as error:
                mended = self._mend(error, first, last)
            except (ValueError, RecursionError, MemoryError):
                mended = self._flatten(first, last)
            self.budget -= size
            if not mended or self.budget <= 0:
                return self._cut(first, last)

    def _cut(self, first: int, last: int) -> list[ast.stmt]:
        """Cut a piece again, where the text alone says that a definition starts at the margin."""
        cuts: list[int] = []
        for line in range(first + 1, last + 1):
            text, above = self.original[line - 1], self.original[line - 2]
            # A decorator stays with what it decorates.
            if _MARGIN.match(text) and not above.startswith("@"):
                cuts.append(line)
        if not cuts:
            return self._outline(first, last)
        statements: list[ast.stmt] = []
        for start, after in pairwise([first, *cuts, last + 1]):
            statements += self._piece(start, after - 1)
        return statements

    def _parse(self, first: int, last: int) -> list[ast.stmt]:
        return parse("\n" * (first - 1) + "\n".join(self.lines[first - 1 : last])).body

    def _mend(self, error: SyntaxError, first: int, last: int) -> bool:
        """Replace what `error` points at; False where nothing is left to replace there."""
        line = min(max(error.lineno or first, first), last)
        empty = _EMPTY_BLOCK.search(error.msg)
        if empty and first <= int(empty[1]) <= last:
            line = int(empty[1])
            return self._replace(line, line, self._block_like(line))
        start, end = self.syntax.simple.get(line, (line, line))
        if start in self.broken or not (first <= start and end <= last):
            start = end = line
        if isinstance(error, IndentationError):
            stray = self._stray(line, first)
            return self._replace(stray, stray, "") if stray else self._replace(start, end, "")
        return self._replace(start, end, self._stand_in(start))

    def _stray(self, line: int, first: int) -> int:
        """The line above `line` where that one alone is out of its block: the lines on both sides
        of it are indented at least as much as `line`. 0 where it is `line` that is out of place."""
        above: list[int] = []
        for number in range(line - 1, max(first, line - _NEAR) - 1, -1):
            if self.lines[number - 1].strip():
                above.append(number)
        if len(above) < 2:
            return 0
        suspect, before = above[0], above[1]
        indent = _indent(self.lines[line - 1])
        is_stray = _indent(self.lines[suspect - 1]) < indent <= _indent(self.lines[before - 1])
        return suspect if is_stray else 0

    def _stand_in(self, line: int) -> str:
        """What may stand in place of `line`: a header stays a header of its kind."""
        header = _HEADER.match(self.lines[line - 1])
        following = _first_text(self.lines[line : line + _NEAR])
        if header is None or _indent(following) <= _indent(self.lines[line - 1]):
            return self._block_like(line)
        match header[1]:
            case "def":
                return f"def {header[2] or '_'}(*args, **kwargs):"
            case "class":
                return f"class {header[2] or '_'}:"
            case "elif":
                return "elif 1:"
            case "except":
                return "except Exception:"
            case _:
                return "if 1:"

    def _block_like(self, line: int) -> str:
        """A whole statement for a header without a block, keeping the name that it defines."""
        header = _HEADER.match(self.lines[line - 1])
        if header is None or not header[2]:
            return "pass"
        match header[1]:
            case "def":
                return f"def {header[2]}(*args, **kwargs): pass"
            case "class":
                return f"class {header[2]}: pass"
            case _:
                return "pass"

    def _replace(self, first: int, last: int, text: str) -> bool:
        """Put `text` in place of lines `first`..`last`; the second time, leave them empty."""
        old = self.lines[first - 1]
        if first in self.broken:
            text = ""
            if not old.strip():
                return False
        elif not any(line.strip() for line in self.lines[first - 1 : last]):
            return False
        indent = old[: len(old) - len(old.lstrip())]
        self.lines[first - 1 : last] = [indent + text if text else "", *[""] * (last - first)]
        self.broken[first] = max(last, self.broken.get(first, last))
        return True

    def _flatten(self, first: int, last: int) -> bool:
        """Replace the deepest statement of a piece that is nested too deeply for Python."""
        candidates: list[tuple[int, int]] = []
        for line, depth in self.syntax.depths.items():
            if first <= line <= last and line not in self.broken:
                candidates.append((depth, line))
        if not candidates:
            return False
        _, line = max(candidates)
        start, end = self.syntax.simple.get(line, (line, line))
        return self._replace(start, min(end, last), "pass")

    def _outline(self, first: int, last: int) -> list[ast.stmt]:
        """Only the names and lines of the definitions of a piece that could not be mended."""
        text = [""] * (last - first + 1)
        for item in self.syntax.outlines:
            if first <= item.start <= item.end <= last:
                _draw(item, text, first)
        if any(line.strip() for line in self.lines[first - 1 : last]):
            self.broken[first] = last
        self.lines[first - 1 : last] = text
        try:
            return self._parse(first, last)
        except REFUSED:
            return []


def _draw(item: Outline, text: list[str], first: int) -> None:
    """Write `item` as an empty definition over its lines into `text`, which starts at `first`."""
    start, end = item.start - first, item.end - first
    signature = f"class {item.name}" if item.is_class else f"def {item.name}(*args, **kwargs)"
    if not text[start].strip() or start == end:
        text[start] = " " * item.level + signature + (":" if start < end else ": pass")
    if start < end:
        text[end] = " " * (item.level + 1) + "pass"


def _first_text(lines: list[str]) -> str:
    """The first line that is not empty, or an empty one."""
    return next((line for line in lines if line.strip()), "")


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
