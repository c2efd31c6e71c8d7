"""Fixtures written twice: the change rewrote one copy and left the other in the old form."""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.core.change import ChangeSet, FileChange
from checks.core.config import Config
from checks.core.finding import (
    Confidence,
    Definition,
    Finding,
    Location,
    Message,
    Related,
    Severity,
    Side,
)
from checks.core.tree import find_word
from checks.domain.ops import calls_of
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function
from checks.lang.ir.stmt import Assign, guarded_statements
from checks.lang.source import language

_SHORTEST = 24
_WORD = re.compile(r"[A-Za-z_]\w{3,}")


def left_behind(change: ChangeSet, config: Config, rule: str) -> Iterator[Finding]:
    """Copies, in the same folder, of a fixture line that the change rewrote, for a value that altered code names."""
    touched = [
        f
        for f in change.files
        if f.head_path and config.is_test(f.path) and language(f.path) == "python"
    ]
    words = _altered_words(change, config) if touched else set()
    for file in touched if words else ():
        for line, name, at in _rewritten(file, change, words):
            yield from _copies(line, name, at, change, config, rule)


def _altered_words(change: ChangeSet, config: Config) -> set[str]:
    """Every name on the altered lines of the code under test."""
    lines: list[str] = []
    for file in change.files:
        if config.is_test(file.path) or not language(file.path) or file.head_path is None:
            continue
        unit = change.unit(file.head_path)
        for number in sorted(file.head_lines()) if unit is not None else ():
            if unit is not None and number <= len(unit.lines):
                lines.append(unit.lines[number - 1])
    return set(_WORD.findall("\n".join(lines)))


def _rewritten(
    file: FileChange, change: ChangeSet, words: set[str]
) -> Iterator[tuple[str, str, Location]]:
    """(old line, name, place of the new form) of each assignment that the change replaced in a test file."""
    old = change.unit(file.base_path, Side.BASE) if file.base_path else None
    new = change.unit(file.head_path) if file.head_path else None
    if old is None or new is None:
        return
    removed, seen = {n for n in file.base_lines() if _may_set(words, old.text(n).strip())}, set()
    for function in old.functions:
        if removed.isdisjoint(range(function.start_line, function.end_line + 1)):
            continue
        for stmt in _fixtures(function):
            text, name = old.text(stmt.line).strip(), _name(stmt.target)
            one_line = stmt.line == stmt.end_line and stmt.line in removed
            if not one_line or name not in words or text in seen:
                continue
            seen.add(text)
            for other in new.named(function.qualname):
                again = [
                    s
                    for s in _fixtures(other)
                    if _name(s.target) == name and change.touches(new.path, s.line, s.line)
                ]
                if again and text not in new.text(other.start_line, other.end_line):
                    yield text, name, Location(new.path, again[0].line)


def _may_set(words: set[str], line: str) -> bool:
    """Whether a line is long enough for a fixture, and may give one of `words` a value."""
    return len(line) >= _SHORTEST and "=" in line and not words.isdisjoint(_WORD.findall(line))


def _fixtures(function: Function) -> Iterator[Assign]:
    """Assignments that build a value with a call or write an element."""
    for guarded in guarded_statements(function.body):
        stmt = guarded.stmt
        if (
            isinstance(stmt, Assign)
            and stmt.value is not None
            and (isinstance(stmt.value, E.Call) or isinstance(stmt.target, E.Index))
        ):
            yield stmt


def _name(target: E.Expr) -> str:
    return (E.dotted(target) or E.root(target) or "").rsplit(".", 1)[-1]


def _copies(
    line: str, name: str, new: Location, change: ChangeSet, config: Config, rule: str
) -> Iterator[Finding]:
    found: dict[str, list[int]] = {}
    for path in _beside(new.path, change, config):
        hits = find_word(change.head.read(path) or b"", name)
        same = [number for number, text in hits if text.strip() == line]
        if same:
            found[path] = same
    unit = change.unit(new.path)
    excerpt = unit.text(new.start_line).strip() if unit is not None else ""
    takers = _takers(name, unit.function_at(new.start_line) if unit is not None else None)
    for path, lines in found.items():
        twin = change.unit(path)
        function = twin.function_at(lines[0]) if twin is not None else None
        theirs = _takers(name, function)
        if takers and theirs and not takers & theirs:
            continue  # the same name, given to other functions
        yield Finding(
            rule=rule,
            severity=Severity.SUGGESTION,
            confidence=Confidence.MEDIUM,
            location=Location(path, lines[0]),
            message=Message("twin", {"name": name, "at": new}),
            symbol=function.qualname if function is not None else "",
            subject=line,
            evidence=(
                Definition(name, new, excerpt),
                Definition(name, Location(path, lines[0]), line),
            ),
            related=tuple(Related(Location(path, n), Message("twin-too", {})) for n in lines[1:]),
        )


def _beside(path: str, change: ChangeSet, config: Config) -> list[str]:
    """The other tests of the same folder that the change left alone."""
    folder = path.rpartition("/")[0]
    near = change.memo(
        ("protocol.twins", folder),
        lambda: [p for p in change.head.paths() if _is_source_in(folder, p)],
    )
    return [p for p in near if p != path and config.is_test(p) and change.changed(p) is None]


def _is_source_in(folder: str, path: str) -> bool:
    return path.rpartition("/")[0] == folder and language(path) != ""


def _takers(name: str, function: Function | None) -> set[str]:
    """What `function` calls with `name` for an argument."""
    found: set[str] = set()
    for call, _ in calls_of(function.body) if function is not None else ():
        values = (*call.args, *(v for _, v in call.keywords))
        if any(_name(v) == name for v in values if isinstance(v, E.Name | E.Attr)):
            found.add(E.callee(call))
    return found
