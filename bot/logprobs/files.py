"""Files of logprob records."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from bot.errors import UserError
from checks.logprobs.jsonl import RecordError, lines, parse, read
from checks.logprobs.record import Record


def read_records(name: str) -> Iterator[Record]:
    """The records of file `name`, one at a time. Raises `UserError` with the line that is none."""
    with reading(name) as file:
        try:
            yield from read(lines(file))
        except RecordError as error:
            raise record_error(error, name) from error


def parse_line(path: Path, line: bytes, number: int) -> Record:
    """The record in line `number` of file `path`. Raises `UserError`."""
    try:
        return parse(line, number)
    except RecordError as error:
        raise record_error(error, path) from error


def record_error(error: RecordError, path: str | Path) -> UserError:
    """The error for a line that is no record."""
    return UserError(f"record-{error.key}", path=str(path), line=error.line, **error.args_)


@contextmanager
def reading(path: str | Path, buffer: int = 1 << 20) -> Iterator[BinaryIO]:
    """The file's bytes, `buffer` of them at a time; `UserError` where they cannot be read.

    Lines are some 100 KB long, and one that is larger than the buffer is put together from parts.
    """
    try:
        with Path(path).open("rb", buffer) as file:
            yield file
    except OSError as error:
        raise UserError("unreadable", path=str(path), reason=error.strerror) from error


@contextmanager
def unless_unwritable(path: Path) -> Iterator[None]:
    """`UserError` where what is done inside cannot be written."""
    try:
        yield
    except OSError as error:
        raise UserError("unwritable", path=str(path), reason=error.strerror) from error
