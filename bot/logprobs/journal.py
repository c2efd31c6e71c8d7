"""The file that a recording grows: each line is on the disk before the next request is counted as
done.

A recording that was killed goes on where it stopped: complete lines are kept, a torn last line is
dropped.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from bot.errors import UserError
from bot.logprobs.files import record_error, unless_unwritable
from checks.logprobs.jsonl import BEGINNING, LONGEST, RecordError, lines, parse, write
from checks.logprobs.record import Record


class Journal:
    """Records by request id, in the file `path`. Make one with `open_journal`."""

    def __init__(self, file: BinaryIO, path: Path) -> None:
        self._file = file
        self.path = path
        self._places: dict[str, tuple[int, int]] = {}

    @property
    def done(self) -> set[str]:
        """Ids of the requests that are recorded."""
        return set(self._places)

    def load(self) -> Iterator[Record]:
        """The records that are there already.

        When all have been read, a torn last line is taken off the file.
        """
        place = 0
        for number, line in enumerate(lines(self._file), 1):
            if _is_torn(line):
                break
            try:
                record = parse(line, number)
            except RecordError as error:
                raise record_error(error, self.path) from error
            yield record
            self._places[record.id] = place, len(line)
            place += len(line)
        self._file.truncate(place)
        self._file.seek(place)

    def append(self, record: Record) -> None:
        """Write one more record, through to the disk."""
        line = write(record)
        place = self._file.tell()
        with unless_unwritable(self.path):
            self._file.write(line)
            self._file.flush()
            os.fsync(self._file.fileno())
        self._places[record.id] = place, len(line)

    def sort(self, ids: Iterable[str]) -> None:
        """Put the lines into the order of `ids`, all of which are there, in one step: answers come
        as they please, and the same recording is the same file.
        """
        places = [self._places[id] for id in ids]
        if places == sorted(places):
            return
        handle, name = tempfile.mkstemp(prefix=f".{self.path.name}.", dir=self.path.parent)
        with os.fdopen(handle, "wb") as sorted_file:
            os.fchmod(handle, os.fstat(self._file.fileno()).st_mode & 0o777)
            for place, length in places:
                self._file.seek(place)
                sorted_file.write(self._file.read(length))
            sorted_file.flush()
            os.fsync(handle)
        os.replace(name, self.path)


def _is_torn(line: bytes) -> bool:
    """Whether it is the beginning of a record that was not written to its end."""
    if line.endswith(b"\n") or len(line) > LONGEST:
        return False
    return line.startswith(BEGINNING[: len(line)])


@contextmanager
def open_journal(name: str) -> Iterator[Journal]:
    """The journal in file `name`, which only one process may have open. Raises `UserError`."""
    path = Path(name).resolve()
    with unless_unwritable(path):
        file = path.open("a+b")
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UserError("recording-locked", path=name) from error
        file.seek(0)
        yield Journal(file, path)
