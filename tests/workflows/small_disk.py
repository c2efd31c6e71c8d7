"""A disk of a test's own, which can be made full."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_SIZE = 256 << 20
_CHUNK = 1 << 20


@contextmanager
def mount_small_disk(folder: Path) -> Iterator[bool]:
    """Put a disk of 256 MB at `folder`, where this machine lets us; says whether it did."""
    folder.mkdir(parents=True, exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={_SIZE}", "tmpfs", str(folder)]
    try:
        is_mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        is_mounted = False
    try:
        yield is_mounted
    finally:
        if is_mounted:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)


@contextmanager
def full(folder: Path) -> Iterator[None]:
    """No byte is left on the disk at `folder`, for as long as the `with`."""
    ballast = folder / "ballast"
    try:
        with ballast.open("wb", buffering=0) as file:
            _write_until_full(file.fileno())
        yield
    finally:
        ballast.unlink(missing_ok=True)


def _write_until_full(file: int) -> None:
    data = bytes(_CHUNK)
    try:
        while True:
            os.write(file, data)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
