"""Parts of a log, cleaned, read in one pass over the whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from checks.ci.log_blocks import Block, blocks, clean_line
from checks.ci.report import LogLine


@dataclass(frozen=True, slots=True)
class LineRange:
    """The lines `first` to `last` of a log, both counted from 1 and included."""

    first: int
    last: int

    def __contains__(self, number: int) -> bool:
        return self.first <= number <= self.last


def lines_between(stream: BinaryIO, first: int, last: int) -> Iterator[LogLine]:
    """The cleaned lines `first` to `last` of a log, both counted from 1 and included."""
    for block in blocks(stream):
        if block.first > last:
            return
        raw_lines = _raw_lines(block)
        if block.first + len(raw_lines) > first:
            yield from _lines_within(raw_lines, block.first, LineRange(first, last))


def read_ranges(stream: BinaryIO, ranges: Sequence[LineRange]) -> list[tuple[LogLine, ...]]:
    """The lines of each range, in the order of `ranges`, which may overlap."""
    found: list[list[LogLine]] = [[] for _ in ranges]
    last = max((wanted.last for wanted in ranges), default=0)
    stream.seek(0)
    for block in blocks(stream):
        if block.first > last:
            break
        raw_lines = _raw_lines(block)
        for wanted, lines in zip(ranges, found, strict=True):
            lines += _lines_within(raw_lines, block.first, wanted)
    return [tuple(lines) for lines in found]


def _raw_lines(block: Block) -> list[bytes]:
    raw_lines = block.data.split(b"\n")
    # What follows a block's last line end is no line: the next block begins with it.
    if not raw_lines[-1]:
        raw_lines.pop()
    return raw_lines


def _lines_within(raw_lines: list[bytes], first: int, wanted: LineRange) -> Iterator[LogLine]:
    """The wanted lines of a block that begins with line `first`."""
    start = max(0, wanted.first - first)
    end = max(0, wanted.last - first + 1)
    for number, raw in enumerate(raw_lines[start:end], first + start):
        yield LogLine(number, clean_line(raw))
