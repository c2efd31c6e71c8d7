"""A Python file's bytes as text and lines whose numbers are git's."""

from __future__ import annotations

import ast
import codecs
import io
import tokenize
import warnings
from dataclasses import dataclass

# What `ast.parse` raises on a file that it cannot read.
REFUSED = (SyntaxError, ValueError, RecursionError, MemoryError)


@dataclass(frozen=True, slots=True)
class SourceText:
    """`lines` are without their ends; `damaged` are those (from 1) whose bytes Python refuses."""

    lines: tuple[str, ...]
    damaged: frozenset[int]

    def segment(self, node: ast.expr | ast.stmt | ast.pattern | ast.arg) -> str:
        """The source text of `node`, over several lines where it has them."""
        first, last = node.lineno, node.end_lineno or node.lineno
        end = node.end_col_offset
        if first == last:
            return _between(self.lines[first - 1], node.col_offset, end)
        first_part = _between(self.lines[first - 1], node.col_offset, None)
        last_part = _between(self.lines[last - 1], 0, end)
        return "\n".join([first_part, *self.lines[first : last - 1], last_part])


def _between(line: str, start: int, end: int | None) -> str:
    """The part of `line` between two of `ast`'s columns, which count UTF-8 bytes."""
    return line.encode()[start:end].decode("utf-8", "replace")


def parse(text: str) -> ast.Module:
    """`ast.parse` without its warnings; raises one of `REFUSED`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


def read(data: bytes) -> SourceText:
    """Decode `data` as Python does (BOM, coding cookie), else as UTF-8 with replacement characters.

    Lines end at `\\n` alone, as in git: a lone `\\r`, where Python ends a line, becomes a blank.
    """
    text, exact = _decode(data)
    lines = text.replace("\r\n", "\n").replace("\r", " ").split("\n")
    if lines[-1] == "":
        lines.pop()
    # Python refuses a file for such a character; the other lines are worth reading.
    refused = "\0" if exact else "\0\N{REPLACEMENT CHARACTER}"
    damaged = frozenset(n for n, line in enumerate(lines, 1) if any(c in line for c in refused))
    return SourceText(tuple([line.replace("\0", " ") for line in lines]), damaged)


def _decode(data: bytes) -> tuple[str, bool]:
    """The text, and whether every byte was valid."""
    if data.startswith(codecs.BOM_UTF8):
        data = data[3:]
    try:
        return data.decode("utf-8"), True
    except UnicodeDecodeError:
        pass
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return data.decode(encoding), True
    except (SyntaxError, LookupError, UnicodeDecodeError):
        return data.decode("utf-8", "replace"), False
