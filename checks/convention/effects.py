"""What a change does beyond its facts: which files change code at all, and which assignments give
another value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from checks.change import ChangeSet, FileChange
from checks.config import Config, matches
from checks.finding import Side
from checks.ir.stmt import Assign, flatten
from checks.ir.unit import Function, Unit
from checks.source import language

LONGEST_CODE = 90
"""Longer source is not quoted in a description."""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """An assignment to `target` in `function` that gave `before` and now gives `after`, as source
    text.
    """

    function: str
    target: str
    before: str
    after: str


def is_source(path: str, config: Config) -> bool:
    """Whether `path` is product code: a language that is read, under `paths.sources`, and no
    test.
    """
    return bool(language(path)) and matches(path, config.paths.sources) and not config.is_test(path)


def changed_sources(change: ChangeSet, config: Config) -> list[FileChange]:
    """Product code in which more than comments and blank lines changed."""
    return [f for f in change.files if is_source(f.path, config) and _does_something(change, f)]


def changed_tests(change: ChangeSet, config: Config) -> list[FileChange]:
    """Test code added or changed; a deleted test tests nothing."""
    return [
        f
        for f in change.files
        if config.is_test(f.path) and f.status != "D" and _does_something(change, f)
    ]


def _does_something(change: ChangeSet, file: FileChange) -> bool:
    """Whether a changed line is code, as far as the file was parsed. A rename alone does
    nothing.
    """
    if file.mode != "file" or (not file.hunks and not file.binary):
        return False
    sides = (
        (Side.HEAD, file.head_path, file.head_lines()),
        (Side.BASE, file.base_path, file.base_lines()),
    )
    return any(
        path is not None and _has_code(change.unit(path, side), lines)
        for side, path, lines in sides
    )


def _has_code(unit: Unit | None, lines: set[int]) -> bool:
    if unit is None:
        return bool(lines)
    noted = {n for c in unit.comments for n in range(c.line, c.end_line + 1)}
    return any(not _is_idle(unit, n, noted) for n in lines)


def _is_idle(unit: Unit, line: int, noted: set[int]) -> bool:
    text = unit.text(line).strip()
    marks = ("#",) if unit.language == "python" else ("//", "/*", "*")
    return not text or (line in noted and text.startswith(marks))


def rewrites(change: ChangeSet, file: FileChange) -> Iterator[Rewrite]:
    """Targets that one changed assignment of a function sets on either side, to different
    values.
    """
    if file.head_path is None or file.base_path is None or file.mode != "file":
        return
    head, base = change.unit(file.head_path), change.unit(file.base_path, Side.BASE)
    if head is None or base is None:
        return
    old = {f.qualname: f for f in base.functions}
    for after in _touched(head, file.head_lines()):
        before = old.get(after.qualname)
        if before is None or not (before.clean and after.clean):
            continue
        had = dict(_assigns(before, base, file.base_lines()))
        for target, value in _assigns(after, head, file.head_lines()):
            gave = had.get(target, value)
            if gave != value and max(len(gave), len(value)) <= LONGEST_CODE:
                yield Rewrite(after.qualname, target, gave, value)


def _touched(unit: Unit, lines: set[int]) -> list[Function]:
    """The innermost function of each line, in source order."""
    found = {id(f): f for n in sorted(lines) if (f := unit.function_at(n)) is not None}
    return sorted(found.values(), key=lambda f: f.start_line)


def _assigns(function: Function, unit: Unit, lines: set[int]) -> list[tuple[str, str]]:
    """(target, value) of the changed plain assignments, without targets that are set more than
    once.
    """
    found: list[tuple[str, str]] = []
    for guarded in flatten(function.body):
        stmt = guarded.stmt
        if not isinstance(stmt, Assign) or stmt.value is None or stmt.op != "=":
            continue
        if lines.isdisjoint(range(stmt.line, stmt.end_line + 1)):
            continue
        text = re.sub(r"\s+", " ", unit.text(stmt.line, stmt.end_line)).strip().rstrip("; ")
        target, equals, value = text.partition(" = ")
        if equals and not re.search(r"//|;|\bfor\b \(", text):
            found.append((target, value))
    targets = [t for t, _ in found]
    return [(t, v) for t, v in found if targets.count(t) == 1]
