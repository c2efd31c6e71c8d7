"""A clock that can be set wrong for the processes of a test, by libfaketime, where it is installed."""

from __future__ import annotations

from pathlib import Path

_LIBRARIES = "/usr/lib/*/faketime/libfaketimeMT.so.1"


class Clock:
    """The time of day of the processes that are started in `environment`."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "clock"
        self._library = next(iter(sorted(Path("/").glob(_LIBRARIES.removeprefix("/")))), None)
        self.set(0)

    @property
    def can_be_set(self) -> bool:
        return self._library is not None

    @property
    def environment(self) -> dict[str, str]:
        """What a process needs to have this clock; how long something took stays as it is."""
        if self._library is None:
            return {}
        return {
            "LD_PRELOAD": str(self._library),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_NO_CACHE": "1",
            "DONT_FAKE_MONOTONIC": "1",
        }

    def set(self, seconds: int) -> None:
        """So many seconds before (or, below 0, behind) the true time from now on."""
        new = self._file.with_suffix(".new")
        new.write_text(f"{seconds:+d}s\n")
        new.replace(self._file)
