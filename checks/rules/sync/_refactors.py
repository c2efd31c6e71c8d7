"""Alterations that leave the meaning as it was: a value that got a name or lost it, or moved to another attribute."""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.core.change import ChangeSet, FileChange
from checks.core.config import Config
from checks.core.finding import Side
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Assign, guarded_statements
from checks.rules.sync._effects import Alteration

DEPTH = 3


def means_the_same(
    alteration: Alteration, old: tuple[Function, SourceFile], new: tuple[Function, SourceFile]
) -> bool:
    """Whether both forms are one once the names in which they differ stand for what they were given. `old` and `new`
    are the function and its file in the base and in the head."""
    before, after = alteration.old.form, alteration.new.form
    if isinstance(before, tuple) or isinstance(after, tuple):
        return False
    for _ in range(DEPTH):
        unlike = _places(before) ^ _places(after)
        if not unlike:
            return before == after
        before, after = _expanded(before, unlike, *old), _expanded(after, unlike, *new)
        if before == after:
            return True
    return False


def _places(form: E.Expr) -> set[E.Expr]:
    """The names and the attributes of `self` in `form`."""
    return {
        e
        for e in E.walk(form)
        if isinstance(e, E.Name) or (isinstance(e, E.Attr) and e.base == E.Name("self"))
    }


def _expanded(form: E.Expr, places: set[E.Expr], function: Function, unit: SourceFile) -> E.Expr:
    """`form` with each of `places` put in: names that the function gives one value, attributes that the file does."""

    def value(e: E.Expr) -> E.Expr | None:
        if e not in places:
            return None
        if isinstance(e, E.Name):
            found = _values(e, function)
        else:
            given = re.compile(
                rf"{re.escape(E.dotted(e) or '')}[\s\\)]*(?::[^=]*|[-+*/%@&|^<>]+)?=(?!=)"
            )
            here = [f for f in unit.functions if given.search(_text(f, unit))]
            # Its names only: an attribute may be made of itself (`self.size = self.size or default`).
            found = [_expanded(v, _names(v), f, unit) for f in here for v in _values(e, f)]
        return found[0] if len(found) == 1 else None

    return E.substitute(form, value)


def _names(form: E.Expr) -> set[E.Expr]:
    return {e for e in E.walk(form) if isinstance(e, E.Name)}


def _text(function: Function, unit: SourceFile) -> str:
    return unit.text(function.start_line, function.end_line)


def _values(target: E.Expr, function: Function) -> list[E.Expr]:
    return function.body.memo(_values, lambda: _given(function)).get(target, [])


def _given(function: Function) -> dict[E.Expr, list[E.Expr]]:
    """What each place in `function` gets."""
    given: dict[E.Expr, list[E.Expr]] = {}
    for guarded in guarded_statements(function.body):
        if isinstance(guarded.stmt, Assign) and guarded.stmt.value is not None:
            given.setdefault(guarded.stmt.target, []).append(guarded.stmt.value)
    return given


def moved_only(alteration: Alteration, change: ChangeSet, config: Config) -> bool:
    """Whether the same attribute is only reached in another way (`self.level` for `self.config.level`), while this
    change takes no attribute of that name away from anything."""
    before, after = alteration.old.form, alteration.new.form
    if isinstance(before, tuple) or isinstance(after, tuple) or before == after:
        return False
    names = {n for pair in ((before, after), (after, before)) for n in _rerouted(*pair)}
    if not names or _named(before) != _named(after):
        return False
    return not any(_taken_away(n, change, config) for n in names)


def _named(form: E.Expr) -> E.Expr:
    """`form` with only the last name of each path."""
    return E.substitute(
        form, lambda e: E.Name(e.name) if isinstance(e, E.Attr) and E.dotted(e) else None
    )


def _rerouted(form: E.Expr, other: E.Expr) -> set[str]:
    paths = {E.dotted(e) for e in E.walk(other) if isinstance(e, E.Attr)}
    return {
        e.name
        for e in E.walk(form)
        if isinstance(e, E.Attr) and E.dotted(e) and E.dotted(e) not in paths
    }


def _taken_away(name: str, change: ChangeSet, config: Config) -> bool:
    """Whether the change removed a line of shared code that declares or sets `name`, and made it no new one."""
    declares = re.compile(rf"^\s*(self\.)?{name}\s*(:[^=]*)?(=[^=]|$)|def {name}\(")
    for file, old, gone in change.memo((_taken_away, "gone"), lambda: tuple(_gone(change, config))):
        if name not in gone or not any(
            declares.search(line) for line in gone.split("\n") if name in line
        ):
            continue
        new = change.unit(file.head_path) if file.head_path else None
        before, after = (u.lines if u is not None else () for u in (old, new))
        if _count(declares, name, after) < _count(declares, name, before):
            return True
    return False


def _gone(change: ChangeSet, config: Config) -> Iterator[tuple[FileChange, SourceFile, str]]:
    """Each changed file of shared Python, what it was, and the lines that it lost."""
    for file in change.files:
        old = (
            change.unit(file.base_path, Side.BASE)
            if file.base_path and file.base_path.endswith(".py")
            else None
        )
        if old is not None and not config.hardware_of(file.path):
            lost = (n for n in sorted(file.base_lines()) if n <= len(old.lines))
            yield file, old, "\n".join(old.lines[n - 1] for n in lost)


def _count(pattern: re.Pattern[str], name: str, lines: tuple[str, ...]) -> int:
    return sum(1 for line in lines if name in line and pattern.search(line))
