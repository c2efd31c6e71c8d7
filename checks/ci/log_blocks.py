"""Raw CI logs as blocks of whole lines, and one line as a person would read it."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import BinaryIO

from checks.ci.line_prefixes import strip_prefixes

BLOCK = 2 << 20
# What a rule is tried on. A longer line is cut around the place that made it a candidate.
LONGEST = 2000
# Bytes by which UTF-16 is known without its mark.
_UTF16_SHOWN = 32

_ANSI = re.compile(
    rb"\x1b(?:\[[0-9;:?<=>]{0,40}[ -/]{0,4}[@-~]"  # CSI: colours, cursor
    rb"|[\]_P^][^\x07\x1b\n]{0,300}(?:\x07|\x1b\\)?"  # OSC and its kind: titles, links
    rb"|[ -/]{0,4}[0-~])"
)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u2028\u2029\ufeff]")
_MARKER = re.compile(
    r"##\[(?:group|endgroup|error|warning|notice|command|section|debug)\]|^::(?:group|endgroup)::"
)
_ISO = re.compile(rb"(?:\xef\xbb\xbf)?(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.\d{1,9})?Z ")


@dataclass(frozen=True, slots=True)
class Block:
    """Some whole lines, each with its end. `first` is the first one's number, counted from 1."""

    data: bytes
    first: int


def blocks(stream: BinaryIO, size: int = BLOCK) -> Iterator[Block]:
    """The stream's lines, about `size` bytes at a time. UTF-16 is converted to UTF-8.

    A line longer than `size` comes in several blocks under one number: memory stays bounded
    whatever the log holds.
    """
    first = 1
    rest = b""
    for chunk in _utf8_chunks(stream, size):
        data = rest + chunk
        end = data.rfind(b"\n") + 1
        if end == 0:
            if len(data) < size:
                rest = data
                continue
            end = len(data)
        yield Block(uncoloured(data[:end]), first)
        first += data.count(b"\n", 0, end)
        rest = data[end:]
    if rest:
        yield Block(uncoloured(rest) + b"\n", first)


def uncoloured(data: bytes) -> bytes:
    """`data` without terminal sequences. Its line ends stay."""
    if b"\x1b" not in data:
        return data
    return _ANSI.sub(b"", data)


def _utf8_chunks(stream: BinaryIO, size: int) -> Iterator[bytes]:
    chunk = stream.read(size)
    encoding = _utf16(chunk)
    decoder = codecs.getincrementaldecoder(encoding or "utf-8")("replace")
    while chunk:
        yield decoder.decode(chunk).encode("utf-8", "replace") if encoding else chunk
        chunk = stream.read(size)


def _utf16(chunk: bytes) -> str:
    """The kind of UTF-16 that a log begins with, empty where it is none.

    PowerShell writes it. Where its mark is cut off, every second byte of a console's text is zero.
    """
    if chunk.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    start = chunk[:_UTF16_SHOWN]
    if len(start) == _UTF16_SHOWN and not any(start[1::2]) and all(start[::2]):
        return "utf-16-le"
    return ""


def text(raw: bytes) -> str:
    """Bytes as text, never an error: UTF-8, else GB 18030 (Chinese consoles), else Latin-1."""
    for encoding in ("utf-8", "gb18030"):
        try:
            return raw.decode(encoding)
        except UnicodeDecodeError:
            continue
    return raw.decode("latin-1")


def clean_line(raw: bytes, at: int = 0) -> str:
    """One line as a person would read it.

    Without time stamps, colours, group markers, control characters and overwritten progress bars.
    `at` is the byte around which a line longer than `LONGEST` is cut.
    """
    raw = uncoloured(raw).rstrip(b"\r\n")
    if len(raw) > LONGEST:
        start = max(0, min(at - LONGEST // 2, len(raw) - LONGEST))
        raw = raw[start : start + LONGEST]
    line = _last_overwrite(text(raw))
    line = strip_prefixes(_MARKER.sub("", strip_prefixes(line)))
    line = _CONTROL.sub("", line)
    return line.rstrip()


def is_marked_error(raw: bytes) -> bool:
    """Whether GitHub shows the line as an error."""
    return b"##[error]" in raw


def _last_overwrite(line: str) -> str:
    """What a terminal shows of a progress bar that was written over itself: its last state."""
    if "\r" not in line:
        return line
    for part in reversed(line.split("\r")):
        if part.strip():
            return part
    return ""


def time_stamp(raw: bytes) -> datetime | None:
    """The CI system's time of a line, whole seconds, UTC; None where there is none."""
    match = _ISO.match(raw)
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(part) for part in match.groups())
    try:
        return datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None
