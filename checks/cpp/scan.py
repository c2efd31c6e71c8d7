"""Comments and strings of a C++ file, found without parsing it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from checks.ir.unit import Comment

# A quote after a hexadecimal digit is a digit separator (`1'000'000`), not a character literal.
_TOKEN = re.compile(
    rb"(?P<comment>//[^\n\\]*(?:\\.[^\n\\]*)*|/\*.*?(?:\*/|\Z))"
    rb'|R"(?P<tag>[^()\\\s"]{0,16})\(.*?(?:\)(?P=tag)"|\Z)'
    rb'|"[^"\\\n]*(?:\\.[^"\\\n]*)*"?'
    rb"|(?<![0-9a-fA-F])'[^'\\\n]*(?:\\.[^'\\\n]*)*'?",
    re.DOTALL,
)
_BLANK = bytes(10 if byte == 10 else 32 for byte in range(256))
_MARKERS = re.compile(r"^\s*(?://[/!]?<?|/\*[*!]*<?|\*(?!/)|(?=\*/))[ \t]?")


@dataclass(frozen=True, slots=True)
class Scan:
    """`quiet` is the source with comments and the insides of strings blanked, byte for byte in place."""

    quiet: bytes
    comments: tuple[tuple[int, int], ...]


def scan(data: bytes) -> Scan:
    """Where the comments are, and the code that is left, of the same length as `data`."""
    parts: list[bytes] = []
    comments: list[tuple[int, int]] = []
    end = 0
    for match in _TOKEN.finditer(data):
        start, stop = match.span()
        parts.append(data[end:start])
        if match["comment"] is not None:
            comments.append((start, stop))
            parts.append(blank(data[start:stop]))
        elif stop - start < 2:
            parts.append(data[start:stop])
        else:
            inside = blank(data[start + 1 : stop - 1])
            parts.append(data[start : start + 1] + inside + data[stop - 1 : stop])
        end = stop
    parts.append(data[end:])
    return Scan(b"".join(parts), tuple(comments))


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
        alone = not data[row:start].strip()
        slashes = text.startswith("//")
        if slashes and alone and blocks and blocks[-1][2:] == (line - 1, column):
            words, first, _, _ = blocks.pop()
            blocks.append(([*words, *_words(text)], first, line, column))
            continue
        last = line + data.count(b"\n", start, stop)
        blocks.append((_words(text), line, last, column if slashes else -1))
    return tuple(Comment("\n".join(words).strip("\n"), a, b) for words, a, b, _ in blocks)


def _words(text: str) -> list[str]:
    if text.startswith("/*") and text.endswith("*/"):
        text = text[:-2]
    return [_MARKERS.sub("", line, count=1).rstrip() for line in text.split("\n")]
