"""An index on disk of the records in a file: where the line of each name is.

An entry is a hash of the name, an offset, a length and a line number. There is one file for each
bucket of hashes, so that one bucket at a time is in memory. Names are ids, or hashes of prompts.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from bot.logprobs.files import parse_line, reading
from checks.logprobs.jsonl import lines

BUCKETS = 64
_ENTRY = np.dtype([("hash", "<u8"), ("offset", "<i8"), ("length", "<i8"), ("line", "<i8")])
# Entries of a bucket that wait in memory before they are written.
_MOST_WAITING = 1 << 12

Entries: TypeAlias = NDArray[np.void]


def write_index(path: Path, folder: Path, name: str) -> None:
    """Write `folder/name.<bucket>` for the names of all records in `path`.

    `name` ends in `id` or `prompt`, which says what the names are.
    """
    by_prompt = name.endswith("prompt")
    waiting: list[list[tuple[int, int, int, int]]] = [[] for _ in range(BUCKETS)]
    offset = 0
    with reading(path) as file:
        for number, line in enumerate(lines(file), 1):
            if not line.isspace():
                record = parse_line(path, line, number)
                digest = _hash(record.prompt_sha256 if by_prompt else record.id)
                bucket = digest % BUCKETS
                waiting[bucket].append((digest, offset, len(line), number))
                if len(waiting[bucket]) == _MOST_WAITING:
                    _flush(folder / f"{name}.{bucket}", waiting[bucket])
            offset += len(line)
    for bucket, entries in enumerate(waiting):
        _flush(folder / f"{name}.{bucket}", entries)


def _hash(name: str) -> int:
    data = name.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


def _flush(path: Path, entries: list[tuple[int, int, int, int]]) -> None:
    with path.open("ab") as file:
        file.write(np.array(entries, _ENTRY).tobytes())
    entries.clear()


def read_bucket(folder: Path, name: str, bucket: int) -> Entries:
    """The entries of a bucket by hash; those of one name in the order of the file."""
    entries = np.frombuffer((folder / f"{name}.{bucket}").read_bytes(), _ENTRY)
    return entries[np.lexsort((entries["offset"], entries["hash"]))]


def shares_a_name(folder: Path, kind: str) -> bool:
    """Whether any name of `kind` stands in the indexes of both base and head."""
    for bucket in range(BUCKETS):
        base = read_bucket(folder, f"base-{kind}", bucket)
        head = read_bucket(folder, f"head-{kind}", bucket)
        if np.isin(base["hash"], head["hash"]).any():
            return True
    return False
