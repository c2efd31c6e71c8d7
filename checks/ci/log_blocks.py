"""Raw CI logs as blocks of whole lines, and one line as a person would read it."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import BinaryIO

BLOCK = 2 << 20
# What a rule is tried on. A longer line is cut around the place that made it a candidate.
LONGEST = 2000

_ANSI = re.compile(
    rb"\x1b(?:\[[0-9;:?<=>]{0,40}[ -/]{0,4}[@-~]|[\]_P^][^\x07\x1b\n]{0,300}(?:\x07|\x1b\\)?|[ -/]{0,4}[0-~])"
)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u2028\u2029\ufeff]")
_STAMP = re.compile(
    r"\ufeff?\s{0,4}\[?(?:"
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|\s?[+-]\d\d:?\d\d)?"  # GitHub, Jenkins, Docker, syslog
    r"|\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?=\s|\])"  # Jenkins' Timestamper
    r")\]?(?:\s?\|)?\s?"
)
_BEFORE_STAMP = ("[", " ", "\t", "\ufeff")
_MARKER = re.compile(
    r"##\[(?:group|endgroup|error|warning|notice|command|section|debug)\]|^::(?:group|endgroup)::"
)
_ISO = re.compile(rb"(?:\xef\xbb\xbf)?(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.\d{1,9})?Z ")


@dataclass(frozen=True, slots=True)
class Block:
    """Some whole lines, each with its end: `first` is the number of the first of them, counted from 1."""

    data: bytes
    first: int


def blocks(stream: BinaryIO, size: int = BLOCK) -> Iterator[Block]:
    """The stream's lines, about `size` bytes at a time, UTF-16 made UTF-8.

    A line longer than that comes in several blocks under one number: memory stays bounded whatever the log holds.
    """
    first, carry = 1, b""
    for chunk in _utf8(stream, size):
        data = carry + chunk
        end = data.rfind(b"\n") + 1
        if end == 0 and len(data) < size:
            carry = data
            continue
        end = end or len(data)
        yield Block(uncoloured(data[:end]), first)
        first += data.count(b"\n", 0, end)
        carry = data[end:]
    if carry:
        yield Block(uncoloured(carry) + b"\n", first)


def uncoloured(data: bytes) -> bytes:
    """`data` without terminal sequences; its line ends stay."""
    return _ANSI.sub(b"", data) if b"\x1b" in data else data


def _utf8(stream: BinaryIO, size: int) -> Iterator[bytes]:
    head = stream.read(size)
    if not head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        while head:
            yield head
            head = stream.read(size)
        return
    decode = codecs.getincrementaldecoder("utf-16")("replace").decode
    while head:
        yield decode(head).encode("utf-8", "replace")
        head = stream.read(size)


def text(raw: bytes) -> str:
    """Bytes as text: UTF-8, else GB 18030 (consoles of Chinese systems), else Latin-1; never an error."""
    for encoding in ("utf-8", "gb18030"):
        try:
            return raw.decode(encoding)
        except UnicodeDecodeError:
            continue
    return raw.decode("latin-1")


def clean_line(raw: bytes, at: int = 0) -> str:
    """One line without time stamp, colours, group markers, control characters and overwritten progress bars.

    `at` is the byte around which a line longer than `LONGEST` is cut.
    """
    raw = uncoloured(raw).rstrip(b"\r\n")
    if len(raw) > LONGEST:
        start = max(0, min(at - LONGEST // 2, len(raw) - LONGEST))
        raw = raw[start : start + LONGEST]
    line = text(raw)
    if "\r" in line:
        line = next((part for part in reversed(line.split("\r")) if part.strip()), "")
    line = strip_stamps(line)
    if line.startswith(("#", ":")) or "##[" in line:
        line = _MARKER.sub("", line)
    if not line.isprintable():
        line = _CONTROL.sub("", line)
    return line.rstrip()


def strip_stamps(line: str) -> str:
    """`line` without up to two leading time stamps (the CI system's and the tool's)."""
    for _ in range(2):
        if not line[:1].isdigit() and line[:1] not in _BEFORE_STAMP:
            break
        found = _STAMP.match(line)
        if found is None:
            break
        line = line[found.end() :]
    return line


def time_stamp(raw: bytes) -> datetime | None:
    """The CI system's time of a line, whole seconds, UTC; None where there is none."""
    found = _ISO.match(raw)
    if found is None:
        return None
    try:
        return datetime(*(int(part) for part in found.groups()), tzinfo=UTC)  # type: ignore[misc,arg-type]
    except ValueError:
        return None
