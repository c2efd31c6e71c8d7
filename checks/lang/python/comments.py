"""The `#` comments of a Python file, without running a tokenizer over it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from checks.lang.ir.source_file import Comment

# Strings are matched so that a `#` inside one is passed over; an unterminated one ends at its line.
_COMMENT_OR_STRING = re.compile(
    r'"""(?:[^\\]|\\.)*?"""|\'\'\'(?:[^\\]|\\.)*?\'\'\''
    r'|"(?:[^"\\\n]|\\.)*+"?|\'(?:[^\'\\\n]|\\.)*+\'?|#[^\n]*',
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class _LineComment:
    """The comment of one line; `is_alone` says that no code is before it."""

    line: int
    column: int
    text: str
    is_alone: bool


def comments(lines: tuple[str, ...]) -> tuple[Comment, ...]:
    """Every comment; whole lines under one another at one column are one comment."""
    blocks: list[list[_LineComment]] = []
    for comment in _line_comments("\n".join(lines)):
        previous = blocks[-1][-1] if blocks else None
        is_below = (
            previous is not None
            and previous.line == comment.line - 1
            and previous.column == comment.column
        )
        if is_below and comment.is_alone:
            blocks[-1].append(comment)
        else:
            blocks.append([comment])
    return tuple(map(_joined, blocks))


def _joined(block: list[_LineComment]) -> Comment:
    text = "\n".join(comment.text for comment in block)
    return Comment(text, block[0].line, block[-1].line)


def _line_comments(text: str) -> Iterator[_LineComment]:
    line, counted = 1, 0
    for match in _COMMENT_OR_STRING.finditer(text):
        if not match[0].startswith("#"):
            continue
        start = match.start()
        line += text.count("\n", counted, start)
        counted = start
        line_start = text.rfind("\n", 0, start) + 1
        is_alone = not text[line_start:start].strip()
        yield _LineComment(line, start - line_start, match[0][1:].strip(), is_alone)
