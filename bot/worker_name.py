"""A worker's name, which no other process on the host has beside it.

What a worker left is taken up at its next start by its name. Two at once under one name would each
take up what the other is doing.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from urllib.parse import quote

from bot.errors import UserError
from bot.settings import Settings


@contextmanager
def own_name(settings: Settings, role: str) -> Iterator[str]:
    """The name of this process's worker, as long as the `with`. Where a worker beside it has the
    name of the host and the `role`, it has a number too.

    Raises `UserError` where somebody gave it a name that another has: they mean this very one.
    """
    folder = settings.data_dir / "workers"
    folder.mkdir(exist_ok=True)
    name = settings.executor(role)
    held = _hold(folder, name)
    if held is None and settings.worker_id is not None:
        raise UserError("worker-taken", name=name)
    numbers = count(2)
    while held is None:
        name = f"{settings.executor(role)}-{next(numbers)}"
        held = _hold(folder, name)
    try:
        yield name
    finally:
        os.close(held)


def _hold(folder: Path, name: str) -> int | None:
    """A lock that the system lets go of whatever this process's end; None where another has it."""
    lock = os.open(folder / quote(name, safe=""), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return None
    return lock
