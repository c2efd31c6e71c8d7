"""Two files of records, request by request, without either in memory.

Files that name the same requests in the same order are read side by side. Others get an index on disk first: entries
of a hash, an offset, a length and a line number, in one file per bucket of hashes, so that one bucket at a time is in
memory.
Requests are paired by their id, or where no id stands in both files by the hash of their prompt; of those with the
same name the first is paired with the first.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import zip_longest
from pathlib import Path
from typing import BinaryIO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bot.logprobs.files import reading, told
from bot.logprobs.places import OutOfOrder, Place, places, read_at
from checks.logprobs.compare import Collector, Tally
from checks.logprobs.jsonl import LONGEST, RecordError, lines, parse
from checks.logprobs.record import Record

BUCKETS = 64
# Lines that are compared together: few enough that their rows stay in a cache.
_GROUP_LINES = 64
_GROUP_BYTES = 1 << 21
_ENTRY = np.dtype([("hash", "<u8"), ("offset", "<i8"), ("length", "<i8"), ("line", "<i8")])
_FLUSHED_AT = 1 << 12

Entries: TypeAlias = NDArray[np.void]
Line: TypeAlias = tuple[int, bytes]
Group: TypeAlias = list[tuple[Place | None, Place | None]]
_At: TypeAlias = tuple[Path, BinaryIO, Place | None]


def compare_in_step(base: Path, head: Path, share: tuple[int, int], collector: Collector) -> Tally:
    """Compare every `share[1]`-th group of lines, from the `share[0]`-th on. Raises `OutOfOrder` and `UserError`."""
    with reading(base, 0) as base_file, reading(head, 0) as head_file:
        groups = _groups(zip_longest(places(base_file, LONGEST), places(head_file, LONGEST)))
        for number, group in enumerate(groups):
            if number % share[1] == share[0]:
                collector.add([_pair((base, base_file, b), (head, head_file, h)) for b, h in group])
    return collector.tally


def _groups(pairs: Iterator[tuple[Place | None, Place | None]]) -> Iterator[Group]:
    group: Group = []
    size = 0
    for pair in pairs:
        group.append(pair)
        size += sum(place.length for place in pair if place)
        if len(group) == _GROUP_LINES or size > _GROUP_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group


def _pair(base: _At, head: _At) -> tuple[Record, Record]:
    (base_path, base_file, at_base), (head_path, head_file, at_head) = base, head
    if at_base is None or at_head is None:
        raise OutOfOrder
    line, other = read_at(base_file, at_base), read_at(head_file, at_head)
    of_base = _parsed(base_path, (at_base.number, line))
    # The same bytes are the same record.
    of_head = of_base if line == other else _parsed(head_path, (at_head.number, other))
    if of_base.id != of_head.id:
        raise OutOfOrder
    return of_base, of_head


def _parsed(path: Path, line: Line) -> Record:
    try:
        return parse(line[1], line[0])
    except RecordError as error:
        raise told(error, path) from error


def index(path: Path, folder: Path, name: str) -> None:
    """Write `folder/name.<bucket>` for the names of all records in `path`; `name` ends in `id` or `prompt`."""
    by_prompt = name.endswith("prompt")
    waiting: list[list[tuple[int, int, int, int]]] = [[] for _ in range(BUCKETS)]
    with reading(path) as file:
        offset = 0
        for number, line in enumerate(lines(file), 1):
            if not line.isspace():
                record = _parsed(path, (number, line))
                digest = _hash(record.prompt_sha256 if by_prompt else record.id)
                bucket = waiting[digest % BUCKETS]
                bucket.append((digest, offset, len(line), number))
                if len(bucket) == _FLUSHED_AT:
                    _flush(folder / f"{name}.{digest % BUCKETS}", bucket)
            offset += len(line)
    for n, bucket in enumerate(waiting):
        _flush(folder / f"{name}.{n}", bucket)


def _hash(name: str) -> int:
    return int.from_bytes(
        hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little"
    )


def _flush(path: Path, bucket: list[tuple[int, int, int, int]]) -> None:
    with path.open("ab") as file:
        file.write(np.array(bucket, _ENTRY).tobytes())
    bucket.clear()


def shares_a_name(folder: Path, kind: str) -> bool:
    """Whether any name of `kind` stands in both indexes."""
    return any(
        bool(
            np.isin(
                _bucket(folder, f"base-{kind}", n)["hash"],
                _bucket(folder, f"head-{kind}", n)["hash"],
            ).any()
        )
        for n in range(BUCKETS)
    )


def _bucket(folder: Path, name: str, number: int) -> Entries:
    """The entries of a bucket by hash, those of one name in the order of the file."""
    entries = np.frombuffer((folder / f"{name}.{number}").read_bytes(), _ENTRY)
    return entries[np.lexsort((entries["offset"], entries["hash"]))]


def compare_indexed(
    base: Path, head: Path, folder: Path, kind: str, share: tuple[int, int], collector: Collector
) -> Tally:
    """Compare the requests of every `share[1]`-th bucket, from the `share[0]`-th on. Raises `UserError`."""
    with ExitStack() as stack:
        base_file, head_file = (stack.enter_context(reading(path, 0)) for path in (base, head))
        for number in range(share[0], BUCKETS, share[1]):
            entries = (
                _bucket(folder, f"base-{kind}", number),
                _bucket(folder, f"head-{kind}", number),
            )
            at_base, at_head = _joined(*entries)
            for n in range(0, len(at_base), _GROUP_LINES):
                both = zip(
                    at_base[n : n + _GROUP_LINES], at_head[n : n + _GROUP_LINES], strict=True
                )
                collector.add(
                    [
                        (_at(base, base_file, entries[0][b]), _at(head, head_file, entries[1][h]))
                        for b, h in both
                    ]
                )
            for side, path, file, found, paired in (
                ("base", base, base_file, entries[0], at_base),
                ("head", head, head_file, entries[1], at_head),
            ):
                for entry in np.delete(found, paired):
                    collector.only(side, _at(path, file, entry))
    return collector.tally


def _joined(base: Entries, head: Entries) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Indexes of what stands in both: the n-th of a name with the n-th."""
    first = np.searchsorted(base["hash"], base["hash"], side="left")
    partner = (
        np.searchsorted(head["hash"], base["hash"], side="left") + np.arange(len(base)) - first
    )
    there = partner < np.searchsorted(head["hash"], base["hash"], side="right")
    return np.flatnonzero(there), partner[there]


def _at(path: Path, file: BinaryIO, entry: np.void) -> Record:
    file.seek(int(entry["offset"]))
    return _parsed(path, (int(entry["line"]), file.read(int(entry["length"]))))
