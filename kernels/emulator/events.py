"""A file of events, a line of JSON each: what has happened is there even if the process dies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


class Events:
    """Appends events to a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.touch()

    def write(self, event: dict[str, Any]) -> None:
        """Write a line at once."""
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(event) + "\n")
