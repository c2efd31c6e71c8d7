"""Where the lines of a file are, without what stands in them: of two processes that share a file's lines, each reads
its own alone, and a line that nobody keeps costs no memory but one small buffer, which stays in a cache."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

_BUFFER = 1 << 18
_SPACE = frozenset(b" \t\n\r\v\f")


class OutOfOrder(Exception):
    """Two files do not name the same requests in the same order."""


class Place(NamedTuple):
    """A line's number from 1 on, and where its bytes are; of a too long one only so many that a reader refuses it."""

    number: int
    offset: int
    length: int


def places(file: BinaryIO, longest: int) -> Iterator[Place]:
    """The lines of an unbuffered file from where it stands, its start, in order; those of space alone are left out.

    One longer than `longest` bytes ends after one byte more.
    """
    buffer = bytearray(_BUFFER)
    number, start, offset, blank = 1, 0, 0, True

    def space(begin: int, end: int) -> bool:
        return begin == end or (buffer[begin] in _SPACE and buffer[begin:end].isspace())

    while size := os.readv(file.fileno(), [buffer]):
        at = 0
        while (end := buffer.find(b"\n", at, size) + 1) > 0:
            if not (blank and space(at, end)):
                yield Place(number, start, min(offset + end - start, longest + 1))
            number, start, at, blank = number + 1, offset + end, end, True
        blank = blank and space(at, size)
        offset += size
        if offset - start > longest and not blank:
            break
    if start < offset and not blank:
        yield Place(number, start, min(offset - start, longest + 1))


def read_at(file: BinaryIO, place: Place) -> bytes:
    """The line's bytes; where the file stands does not change."""
    return os.pread(file.fileno(), place.length, place.offset)
