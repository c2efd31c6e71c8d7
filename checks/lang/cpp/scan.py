"""Comments and strings of a C++ file, found without parsing it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from checks.lang.ir.source_file import Comment

# Every alternative starts with a literal character and none is in a group: Python's `re` then skips to the next
# candidate in C. A quote after a hexadecimal digit separates digits (`1'000'000`).
_TOKEN = re.compile(
    rb"//[^\n\\]*(?:\\.[^\n\\]*)*"
    rb"|/\*.*?(?:\*/|\Z)"
    rb'|R"([^()\\\s"]{0,16})\(.*?(?:\)\1"|\Z)'
    rb'|"[^"\\\n]*(?:\\.[^"\\\n]*)*"?'
    rb"|'(?<![0-9a-fA-F]')[^'\\\n]*(?:\\.[^'\\\n]*)*'?",
    re.DOTALL,
)
_BLANK = bytes(10 if byte == 10 else 32 for byte in range(256))
_MARKERS = re.compile(r"^\s*(?://[/!]?<?|/\*[*!]*<?|\*(?!/)|(?=\*/))[ \t]?")


@dataclass(frozen=True, slots=True)
class Scan:
    """`code` is the source with comments blanked, `quiet` with the insides of strings blanked too; in both every
    byte that is left is in its place. `comments` are byte spans."""

    code: bytes
    quiet: bytes
    comments: tuple[tuple[int, int], ...]


def scan(data: bytes) -> Scan:
    """Where the comments are, and the code that is left."""
    code, quiet = bytearray(data), bytearray(data)
    comments: list[tuple[int, int]] = []
    for match in _TOKEN.finditer(data):
        start, stop = match.span()
        if data[start] == 47:  # a slash
            comments.append((start, stop))
            code[start:stop] = quiet[start:stop] = data[start:stop].translate(_BLANK)
        else:
            quiet[start + 1 : stop - 1] = data[start + 1 : stop - 1].translate(_BLANK)
    return Scan(bytes(code), bytes(quiet), tuple(comments))


def blank(text: bytes) -> bytes:
    """Spaces for everything but line ends."""
    return text.translate(_BLANK)


def comments(data: bytes, spans: Iterable[tuple[int, int]]) -> tuple[Comment, ...]:
    """The comments at `spans`; `//` lines that follow each other in the same column are one."""
    blocks: list[tuple[list[str], int, int, int]] = []
    seen, line = 0, 1
    for start, stop in spans:
        line += data.count(b"\n", seen, start)
        seen = start
        row = data.rfind(b"\n", 0, start) + 1
        column = start - row
        text = data[start:stop].decode("utf-8", "replace")
        slashes = text.startswith("//")
        alone = slashes and not data[row:start].strip()
        if alone and blocks and blocks[-1][2:] == (line - 1, column):
            words, first, _, _ = blocks[-1]
            words += _words(text)
            blocks[-1] = (words, first, line, column)
            continue
        last = line + data.count(b"\n", start, stop)
        blocks.append((_words(text), line, last, column if slashes else -1))
    return tuple(Comment("\n".join(words).strip("\n"), a, b) for words, a, b, _ in blocks)


def _words(text: str) -> list[str]:
    if text.startswith("/*") and text.endswith("*/"):
        text = text[:-2]
    return [_MARKERS.sub("", line, count=1).rstrip() for line in text.split("\n")]
