"""The lines of a function before and after, where they are few enough to be printed whole."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from checks.core.change import FileChange
from checks.lang.ir.source_file import Function, SourceFile
from checks.summary.changes.sides import added_lines, removed_lines

_MOST_HUNKS = 3
# A comment. `#if` and `#define` of C++ are code.
_COMMENT = re.compile(r"^\s*(?:#(?!\s*(?:if|else|elif|endif|define|include|pragma))|//|/?\*)")


@dataclass(frozen=True, slots=True)
class LineChange:
    """A line before and after, empty where there is none; `line` is its number in the head."""

    old: str
    new: str
    line: int


def find_line_changes(
    function: Function, unit: SourceFile, base: SourceFile | None, file: FileChange
) -> tuple[LineChange, ...]:
    """What the change did to `function`, line by line.

    Nothing where a hunk has more than one line of code on a side, or where there are more than
    three such hunks: too much to print.
    """
    changes = []
    for hunk in file.hunks:
        start = max(hunk.head_start, 1)
        if not function.covers(start):
            continue
        old = _code_lines(removed_lines(hunk, base.lines)) if base else []
        new = _code_lines(added_lines(hunk, unit.lines))
        if len(old) > 1 or len(new) > 1:
            return ()
        if old or new:
            changes.append(LineChange("".join(old), "".join(new), start))
    if len(changes) > _MOST_HUNKS:
        return ()
    return tuple(changes)


def _code_lines(lines: Sequence[str]) -> list[str]:
    """The lines without blank ones and comments, unindented."""
    return [line.strip() for line in lines if line.strip() and not _COMMENT.match(line)]
