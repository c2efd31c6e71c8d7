"""Answers as they were written before rules were renamed."""

from __future__ import annotations

from pathlib import Path


def with_old_ids(path: Path) -> str:
    """The text of an answer, with every renamed rule under its old id."""
    return path.read_bytes().decode("utf-8", "surrogateescape")
