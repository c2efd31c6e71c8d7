"""The two sides of a changed file: its source before the change, and which lines a hunk holds."""

from __future__ import annotations

from checks.core.change import ChangeSet, Hunk
from checks.core.finding import Side
from checks.lang.ir.source_file import SourceFile


def base_of(path: str, change: ChangeSet) -> SourceFile | None:
    """What the changed file at `path` (of the head) was, None where it is new or not parsed."""
    file = change.changed(path)
    if file is None or not file.base_path:
        return None
    return change.unit(file.base_path, Side.BASE)


def in_base(line: int, hunk: Hunk) -> bool:
    """Whether `line` of the base is among the lines that the hunk removed."""
    return hunk.base_start <= line < hunk.base_start + hunk.base_len


def in_head(line: int, hunk: Hunk) -> bool:
    """Whether `line` of the head is among the lines that the hunk added."""
    return hunk.head_start <= line < hunk.head_start + hunk.head_len


def removed_lines(hunk: Hunk, base: tuple[str, ...]) -> tuple[str, ...]:
    """The lines that the hunk removed, given all lines of the base."""
    return base[hunk.base_start - 1 : hunk.base_start - 1 + hunk.base_len]


def added_lines(hunk: Hunk, head: tuple[str, ...]) -> tuple[str, ...]:
    """The lines that the hunk added, given all lines of the head."""
    return head[hunk.head_start - 1 : hunk.head_start - 1 + hunk.head_len]
