"""Two files of records compared request by request, with neither of them in memory.

Files that name the same requests in the same order are read side by side. Others get an index on
disk first (`record_index`), and requests are paired by it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import zip_longest
from pathlib import Path
from typing import BinaryIO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bot.logprobs.files import parse_line, reading
from bot.logprobs.record_index import BUCKETS, Entries, read_bucket
from checks.logprobs.compare import Collector, ComparisonStats
from checks.logprobs.jsonl import lines
from checks.logprobs.record import Record

# Lines that are compared together: few enough that their rows stay in a cache.
_GROUP_LINES = 64
_GROUP_BYTES = 1 << 21

NumberedLine: TypeAlias = tuple[int, bytes]


class OutOfOrder(Exception):
    """Two files do not name the same requests in the same order."""


def compare_in_step(base: Path, head: Path, collector: Collector) -> ComparisonStats:
    """Compare the lines of both files in their order. Raises `OutOfOrder` and `UserError`."""
    with reading(base) as base_file, reading(head) as head_file:
        line_pairs = zip_longest(_filled_lines(base_file), _filled_lines(head_file))
        group: list[tuple[Record, Record]] = []
        size = 0
        for base_line, head_line in line_pairs:
            if base_line is None or head_line is None:
                raise OutOfOrder
            group.append(_parse_pair((base, base_line), (head, head_line)))
            size += len(base_line[1]) + len(head_line[1])
            if len(group) == _GROUP_LINES or size > _GROUP_BYTES:
                collector.add(group)
                group, size = [], 0
        if group:
            collector.add(group)
    return collector.tally


def _filled_lines(file: BinaryIO) -> Iterator[NumberedLine]:
    """The lines that are not blank, each with its number."""
    for number, line in enumerate(lines(file), 1):
        if not line.isspace():
            yield number, line


def _parse_pair(
    base: tuple[Path, NumberedLine], head: tuple[Path, NumberedLine]
) -> tuple[Record, Record]:
    base_path, (base_number, base_line) = base
    head_path, (head_number, head_line) = head
    base_record = parse_line(base_path, base_line, base_number)
    # The same bytes are the same record.
    head_record = base_record
    if head_line != base_line:
        head_record = parse_line(head_path, head_line, head_number)
    if base_record.id != head_record.id:
        raise OutOfOrder
    return base_record, head_record


def compare_indexed(
    base: Path, head: Path, folder: Path, kind: str, collector: Collector
) -> ComparisonStats:
    """Compare requests of the same name, `kind` being `id` or `prompt`, by the indexes in `folder`.

    Of requests with the same name the first is paired with the first. Raises `UserError`.
    """
    with ExitStack() as stack:
        base_file = stack.enter_context(reading(base, 0))
        head_file = stack.enter_context(reading(head, 0))
        for number in range(BUCKETS):
            base_entries = read_bucket(folder, f"base-{kind}", number)
            head_entries = read_bucket(folder, f"head-{kind}", number)
            at_base, at_head = _join(base_entries, head_entries)
            for start in range(0, len(at_base), _GROUP_LINES):
                group = slice(start, start + _GROUP_LINES)
                pairs = zip(base_entries[at_base[group]], head_entries[at_head[group]], strict=True)
                collector.add(
                    [
                        (_read_record(base, base_file, b), _read_record(head, head_file, h))
                        for b, h in pairs
                    ]
                )
            for entry in np.delete(base_entries, at_base):
                collector.only("base", _read_record(base, base_file, entry))
            for entry in np.delete(head_entries, at_head):
                collector.only("head", _read_record(head, head_file, entry))
    return collector.tally


def _join(base: Entries, head: Entries) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The indexes of what stands in both: the n-th entry of a name with the n-th."""
    first_of_name = np.searchsorted(base["hash"], base["hash"], side="left")
    rank = np.arange(len(base)) - first_of_name
    partner = np.searchsorted(head["hash"], base["hash"], side="left") + rank
    end = np.searchsorted(head["hash"], base["hash"], side="right")
    has_partner = partner < end
    return np.flatnonzero(has_partner), partner[has_partner]


def _read_record(path: Path, file: BinaryIO, entry: np.void) -> Record:
    file.seek(int(entry["offset"]))
    return parse_line(path, file.read(int(entry["length"])), int(entry["line"]))
