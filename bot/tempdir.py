"""Where a service's temporary files are: a folder of its own, so that those of one that was killed
can be told.

The service ends, at a signal too, without waiting for what it is doing; and nobody can tell which
of the system's temporary files were whose.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# Held by each service in its own folder as long as it lives; the system lets go of it, whatever its
# end.
_HELD = "held"


@contextmanager
def private_tempdir(data: Path) -> Iterator[None]:
    """Temporary files of this process, and of those that it starts, go to a new folder under
    `data`, which is deleted in the end. Folders there of services that live no more are deleted
    first.

    Raises `OSError` where `data` cannot be written.
    """
    before, parent = os.environ.get("TMPDIR"), data.absolute() / "scratch"
    parent.mkdir(exist_ok=True)
    # One at a time: a new folder is nobody's for a moment.
    lock = _acquire_lock(parent / "lock")
    try:
        for folder in parent.iterdir():
            if folder.is_dir() and not _in_use(folder):
                shutil.rmtree(folder, ignore_errors=True)
        made = tempfile.mkdtemp(prefix="specbot-", dir=parent)
        held = _acquire_lock(Path(made, _HELD))
    finally:
        os.close(lock)
    os.environ["TMPDIR"] = tempfile.tempdir = made
    try:
        yield
    finally:
        tempfile.tempdir = None
        if before is None:
            del os.environ["TMPDIR"]
        else:
            os.environ["TMPDIR"] = before
        shutil.rmtree(made, ignore_errors=True)
        os.close(held)


def _acquire_lock(path: Path) -> int:
    lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    return lock


def _in_use(folder: Path) -> bool:
    try:
        lock = os.open(folder / _HELD, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False
