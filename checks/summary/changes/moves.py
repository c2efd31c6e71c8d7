"""Functions and classes that stand in another file than before, under the same name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.lang.ir.source_file import Class, Function, SourceFile
from checks.summary.changes.layout import find_relaid_functions, same_code
from checks.summary.changes.pairs import altered_functions

_ClassOfFile = tuple[SourceFile, Class]


@dataclass(frozen=True, slots=True)
class Move:
    """A function or class that stood in the file `old` and stands at `line` of `new`.

    `unchanged` where nothing but layout and comments differs. `functions` are the function itself,
    or the methods of the class, as they stand now.
    """

    name: str
    old: str
    new: str
    line: int
    unchanged: bool
    functions: tuple[Function, ...]


def find_moves(change: ChangeSet, config: Config) -> tuple[Move, ...]:
    """Every move, in the order of files and lines. A class moves with its methods."""
    return change.memo(
        ("analysis.moves", config.paths.tests),
        lambda: tuple(sorted(_moves(change, config), key=lambda move: (move.new, move.line))),
    )


def _moves(change: ChangeSet, config: Config) -> Iterator[Move]:
    methods: dict[tuple[str, str], list[Function]] = {}
    classes = {(move.new, move.name): move for move in _moved_classes(change, config)}
    relaid = {(f.path, f.start_line) for f in find_relaid_functions(change, config)}
    for delta, base, _ in altered_functions(change, config):
        file, now = change.changed(delta.head.path), delta.head
        if file is None or base.path == file.base_path:
            continue
        if (now.path, now.owner) in classes:
            methods.setdefault((now.path, now.owner), []).append(now)
            continue
        unchanged = (now.path, now.start_line) in relaid
        yield Move(now.qualname, base.path, now.path, now.start_line, unchanged, (now,))
    for key, move in classes.items():
        yield replace(move, functions=tuple(methods.get(key, ())))


def _moved_classes(change: ChangeSet, config: Config) -> Iterator[Move]:
    """Classes that left one file and came into one other, without their methods."""
    left: dict[str, list[_ClassOfFile]] = {}
    came: dict[str, list[_ClassOfFile]] = {}
    for file in change.files:
        if config.is_test(file.path) or file.mode != "file":
            continue
        base = _classes_by_name(change.base_unit(file))
        head = _classes_by_name(change.head_unit(file))
        for name in base.keys() - head.keys():
            left.setdefault(name, []).append(base[name])
        for name in head.keys() - base.keys():
            came.setdefault(name, []).append(head[name])
    for name in left.keys() & came.keys():
        if len(left[name]) == len(came[name]) == 1:
            yield from _move_of_class(left[name][0], came[name][0])


def _classes_by_name(unit: SourceFile | None) -> dict[str, _ClassOfFile]:
    if unit is None:
        return {}
    return {cls.name: (unit, cls) for cls in unit.classes}


def _move_of_class(before: _ClassOfFile, now: _ClassOfFile) -> Iterator[Move]:
    (old, old_class), (new, new_class) = before, now
    if old.language != new.language:
        return
    old_text = old.text(old_class.start_line, old_class.end_line)
    new_text = new.text(new_class.start_line, new_class.end_line)
    unchanged = same_code(old_text, new_text, python=new.language == "python")
    yield Move(new_class.name, old.path, new.path, new_class.start_line, unchanged, ())
