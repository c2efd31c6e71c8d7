"""The `#` comments of a Python file, without running a tokenizer over it."""

from __future__ import annotations

import re

from checks.lang.ir.source_file import Comment

# Strings are matched so that a `#` inside one is passed over; an unterminated one ends at its line.
_TOKEN = re.compile(
    r'"""(?:[^\\]|\\.)*?"""|\'\'\'(?:[^\\]|\\.)*?\'\'\''
    r'|"(?:[^"\\\n]|\\.)*+"?|\'(?:[^\'\\\n]|\\.)*+\'?|#[^\n]*',
    re.DOTALL,
)


def comments(lines: tuple[str, ...]) -> tuple[Comment, ...]:
    """Every comment; whole lines under one another at one column are one comment."""
    if not any("#" in line for line in lines):
        return ()
    found = _scan("\n".join(lines))
    result: list[Comment] = []
    block: list[str] = []
    previous: tuple[int, int] | None = None
    for line, column, text, alone in found:
        if block and previous == (line - 1, column) and alone:
            block.append(text)
        else:
            _close(block, previous, result)
            block = [text]
        previous = (line, column)
    _close(block, previous, result)
    return tuple(result)


def _close(block: list[str], previous: tuple[int, int] | None, result: list[Comment]) -> None:
    if block and previous is not None:
        last = previous[0]
        result.append(Comment("\n".join(block), last - len(block) + 1, last))


def _scan(text: str) -> list[tuple[int, int, str, bool]]:
    """(line, column, text without marker, whether nothing else is on the line) of each comment."""
    found: list[tuple[int, int, str, bool]] = []
    line, counted = 1, 0
    for match in _TOKEN.finditer(text):
        start = match.start()
        if text[start] != "#":
            continue
        line += text.count("\n", counted, start)
        counted = start
        left = text.rfind("\n", 0, start) + 1
        words = match.group()[1:].strip()
        found.append((line, start - left, words, not text[left:start].strip()))
    return found
