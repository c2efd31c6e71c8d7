"""Which classes came and which went."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.lang.ir.source_file import Class, SourceFile
from checks.summary.changes.moves import find_moves


@dataclass(frozen=True, slots=True)
class ClassChanges:
    """The classes that a file gained, and those that it lost, but for those that moved."""

    added: tuple[Class, ...]
    removed: tuple[Class, ...]


def find_class_changes(change: ChangeSet, config: Config) -> tuple[ClassChanges, ...]:
    """Those of each product file that has any."""
    return change.memo(
        ("analysis.classes", config.paths.tests),
        lambda: tuple(_class_changes(change, config)),
    )


def _class_changes(change: ChangeSet, config: Config) -> Iterator[ClassChanges]:
    moved = {move.name for move in find_moves(change, config)}
    for file in change.files:
        if config.is_test(file.path) or file.mode != "file":
            continue
        now = _classes_by_name(change.head_unit(file), moved)
        before = _classes_by_name(change.base_unit(file), moved)
        added = tuple(cls for name, cls in now.items() if name not in before)
        removed = tuple(cls for name, cls in before.items() if name not in now)
        if added or removed:
            yield ClassChanges(added, removed)


def _classes_by_name(unit: SourceFile | None, moved: set[str]) -> dict[str, Class]:
    classes = unit.classes if unit is not None else ()
    return {cls.name: cls for cls in classes if cls.name not in moved}
