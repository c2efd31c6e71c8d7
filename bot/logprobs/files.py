"""Files of logprob records."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bot.errors import UserError
from checks.logprobs.jsonl import RecordError, lines, read
from checks.logprobs.record import Record


def read_records(name: str) -> Iterator[Record]:
    """The records of file `name`, one at a time. Raises `UserError` with the line that is no record."""
    try:
        with Path(name).open("rb") as file:
            yield from read(lines(file))
    except RecordError as error:
        raise UserError(f"record-{error.key}", path=name, line=error.line, **error.args_) from error
    except OSError as error:
        raise UserError("unreadable", path=name, reason=error.strerror) from error


@contextmanager
def unless_unwritable(path: Path) -> Iterator[None]:
    """`UserError` where what is done inside cannot be written."""
    try:
        yield
    except OSError as error:
        raise UserError("unwritable", path=str(path), reason=error.strerror) from error
