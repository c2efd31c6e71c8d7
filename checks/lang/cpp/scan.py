"""Comments and strings of a C++ file, found without parsing it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from checks.lang.ir.source_file import Comment

# A quote after a hexadecimal digit is no character literal: it separates digits (`1'000'000`).
_COMMENT_OR_STRING = re.compile(
    rb"//[^\n\\]*(?:\\.[^\n\\]*)*"
    rb"|/\*.*?(?:\*/|\Z)"
    rb'|R"([^()\\\s"]{0,16})\(.*?(?:\)\1"|\Z)'
    rb'|"[^"\\\n]*(?:\\.[^"\\\n]*)*"?'
    rb"|'(?<![0-9a-fA-F]')[^'\\\n]*(?:\\.[^'\\\n]*)*'?",
    re.DOTALL,
)
# Every byte but a line end becomes a space.
_BLANK = bytes(10 if byte == 10 else 32 for byte in range(256))
_COMMENT_MARKER = re.compile(r"^\s*(?://[/!]?<?|/\*[*!]*<?|\*(?!/)|(?=\*/))[ \t]?")


@dataclass(frozen=True, slots=True)
class ScannedSource:
    """A source file with parts of it blanked; every byte that is left is in its place.

    `code` has no comments, `quiet` no comments and no insides of strings. `comments` are the byte
    spans of the comments.
    """

    code: bytes
    quiet: bytes
    comments: tuple[tuple[int, int], ...]


def scan(data: bytes) -> ScannedSource:
    """Where the comments are, and the code that is left."""
    code, quiet = bytearray(data), bytearray(data)
    spans: list[tuple[int, int]] = []
    for match in _COMMENT_OR_STRING.finditer(data):
        start, stop = match.span()
        if match[0].startswith(b"/"):
            spans.append((start, stop))
            code[start:stop] = blank(match[0])
            quiet[start:stop] = blank(match[0])
        else:
            quiet[start + 1 : stop - 1] = blank(data[start + 1 : stop - 1])
    return ScannedSource(bytes(code), bytes(quiet), tuple(spans))


def blank(text: bytes) -> bytes:
    """Spaces for everything but line ends."""
    return text.translate(_BLANK)


@dataclass(slots=True)
class _CommentBlock:
    """A comment that is being put together: `column` is where its `//` stand, -1 for `/* */`."""

    words: list[str]
    line: int
    end_line: int
    column: int


def comments(data: bytes, spans: Iterable[tuple[int, int]]) -> tuple[Comment, ...]:
    """The comments at `spans`; `//` lines that follow each other in the same column are one."""
    blocks: list[_CommentBlock] = []
    line, counted = 1, 0
    for start, stop in spans:
        line += data.count(b"\n", counted, start)
        counted = start
        line_start = data.rfind(b"\n", 0, start) + 1
        column = start - line_start
        text = data[start:stop].decode("utf-8", "replace")
        is_line_comment = text.startswith("//")
        is_alone = is_line_comment and not data[line_start:start].strip()
        previous = blocks[-1] if blocks else None
        if (
            previous is not None
            and is_alone
            and (previous.end_line, previous.column) == (line - 1, column)
        ):
            previous.words += _words(text)
            previous.end_line = line
            continue
        end_line = line + data.count(b"\n", start, stop)
        blocks.append(
            _CommentBlock(_words(text), line, end_line, column if is_line_comment else -1)
        )
    return tuple(Comment("\n".join(b.words).strip("\n"), b.line, b.end_line) for b in blocks)


def _words(text: str) -> list[str]:
    """The lines of a comment without its markers."""
    if text.startswith("/*"):
        text = text.removesuffix("*/")
    return [_COMMENT_MARKER.sub("", line, count=1).rstrip() for line in text.split("\n")]
