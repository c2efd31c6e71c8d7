"""Files that a person names: read with clear errors, written whole or not at all; and what a folder
takes."""

from __future__ import annotations

import errno
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from bot.errors import UserError

# Bytes that the service needs to go on for some minutes.
_LEAST_FREE = 64 << 20


def read_text(name: str) -> str:
    """The UTF-8 text of file `name` (`-` is standard input), with `\\n` line ends."""
    try:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise UserError("unreadable", path=name, reason=error.strerror) from error
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise UserError("not-utf8", path=name) from error


def write_output(text: str, name: str | None) -> None:
    """Write `text` to file `name`, or to standard output where that is None, as UTF-8."""
    write_chunks((text.encode("utf-8", "backslashreplace"),), name)


def write_chunks(chunks: Iterable[bytes], name: str | None) -> None:
    """Write bytes as they come, as `write_output` does; where `chunks` raises, the file stays as it
    was."""
    if name is None:
        _write_to_standard_output(chunks)
        return
    try:
        _replace(Path(name), chunks)
    except OSError as error:
        raise UserError("unwritable", path=name, reason=error.strerror) from error


def _write_to_standard_output(chunks: Iterable[bytes]) -> None:
    try:
        sys.stdout.flush()
        sys.stdout.buffer.writelines(chunks)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        give_up_standard_output()
        raise UserError("unwritable-output", reason=error.strerror) from error


def give_up_standard_output() -> None:
    """Nothing more can be written there. What is left in its buffer must not fail again when Python
    flushes it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _replace(path: Path, chunks: Iterable[bytes]) -> None:
    target = path.resolve()
    if target.exists() and not target.is_file():
        # A device or a pipe cannot be replaced; a directory fails here with its own error.
        with target.open("wb") as device:
            device.writelines(chunks)
        return
    handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.writelines(chunks)
        os.chmod(temporary, _mode(target))
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def _mode(target: Path) -> int:
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def make_private_folder(path: Path) -> None:
    """Make the folder where it is missing; nobody else on the machine may look into it.

    What is written there from now on is its owner's alone too.
    """
    os.umask(0o077)
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    # One that somebody else owns is theirs to close.
    with suppress(PermissionError):
        path.chmod(0o700)


def require_room(folder: Path) -> None:
    """Raise `OSError` where the disk of `folder` is as good as full."""
    if shutil.disk_usage(folder).free < _LEAST_FREE:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder))


def folder_size(folder: Path) -> int:
    """Bytes of all files in the folder, which may go while it is looked at. Holes count too: who
    reads the files reads those."""
    size = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                size += os.lstat(os.path.join(parent, name)).st_size
    return size
