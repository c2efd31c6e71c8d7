"""The credentials of a new App, in the file of settings that `specbot serve --config` reads."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bot.errors import UserError


class CredentialsFile:
    """A file that nobody else can read, empty until the credentials are there."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self.written = False

    def write(self, settings: Mapping[str, Any]) -> None:
        """Write `settings`, strings, integers and lists of strings, as TOML."""
        # JSON writes these as TOML does, as long as characters beyond ASCII stay what they are.
        text = "".join(
            f"{name} = {json.dumps(value, ensure_ascii=False)}\n"
            for name, value in settings.items()
        )
        os.write(self._handle, text.encode("utf-8"))
        os.fsync(self._handle)
        self.written = True


@contextmanager
def reserve_file(path: Path) -> Iterator[CredentialsFile]:
    """The new file `path`, made before GitHub makes the App: its secrets are told once. Gone again
    where nothing was written. Raises `UserError` where the file exists or cannot be made.
    """
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise UserError("app-file-exists", path=str(path)) from None
    except OSError as error:
        raise UserError("unwritable", path=str(path), reason=error.strerror) from None
    file = CredentialsFile(handle)
    try:
        yield file
    finally:
        os.close(handle)
        if not file.written:
            path.unlink(missing_ok=True)
