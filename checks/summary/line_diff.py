"""The lines of a function as they were and as they are, where they are few enough to be read at once."""

from __future__ import annotations

import re
from dataclasses import dataclass

from checks.core.change import FileChange
from checks.lang.ir.source_file import Function, SourceFile

_MOST_HUNKS = 3
_NOTE = re.compile(r"^\s*(?:#(?!\s*(?:if|else|elif|endif|define|include|pragma))|//|/?\*)")


@dataclass(frozen=True, slots=True)
class Line:
    """A line before and after, empty where there was, or is, none; `line` in the head."""

    old: str
    new: str
    line: int


def rewritten(
    function: Function, unit: SourceFile, base: SourceFile | None, file: FileChange
) -> tuple[Line, ...]:
    """What the change did to `function` line by line; nothing where that is more than three lines, in three places."""
    found = []
    for hunk in file.hunks:
        start = max(hunk.head_start, 1)
        if not (function.start_line <= start <= function.end_line):
            continue
        was = (
            _code(base.lines[hunk.base_start - 1 : hunk.base_start - 1 + hunk.base_len])
            if base
            else []
        )
        now = _code(unit.lines[hunk.head_start - 1 : hunk.head_start - 1 + hunk.head_len])
        if len(was) > 1 or len(now) > 1:
            return ()
        if was or now:
            found.append(Line("".join(was), "".join(now), start))
    return tuple(found) if len(found) <= _MOST_HUNKS else ()


def _code(lines: tuple[str, ...]) -> list[str]:
    return [line.strip() for line in lines if line.strip() and not _NOTE.match(line)]
