"""Alterations that leave the meaning as it was: a value got a name or lost it, or moved to another
object.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from checks.core.change import ChangeSet, FileChange
from checks.core.config import Config
from checks.core.finding import Side
from checks.domain.copies.alterations import Alteration
from checks.domain.source_search import functions_matching
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Assign, If, guarded_statements, negate

# How often names are replaced by what they were given.
_MOST_EXPANSIONS = 3


def is_refactor(
    alteration: Alteration, base: Function, old_unit: SourceFile, unit: SourceFile
) -> bool:
    """Whether both forms are one, once the names in which they differ stand for what they were
    given.

    `self.size = n * 2` and `width = n * 2; self.size = width` mean the same, and so do `if a: if
    b:` and `if a and b:`.
    """
    before, after = alteration.old_expression(), alteration.new_expression()
    if before is None or after is None:
        return False
    if alteration.kind == "branch" and _is_rearranged(before, after, base):
        return True
    for _ in range(_MOST_EXPANSIONS):
        differing = _places(before) ^ _places(after)
        if not differing:
            return before == after
        before = _expand(before, differing, base, old_unit)
        after = _expand(after, differing, alteration.function, unit)
        if before == after:
            return True
    return False


def _is_rearranged(before: E.Expr, after: E.Expr, base: Function) -> bool:
    """Whether a condition is asked the other way round, with its arms in the other places, or
    together with those within it."""
    return after == negate(before) or _joins_nested(before, after, base)


def _joins_nested(before: E.Expr, after: E.Expr, base: Function) -> bool:
    """Whether `after` asks at once what the base asked in conditions within each other."""
    joined = _conjuncts(after)
    for guarded in guarded_statements(base.body):
        stmt = guarded.stmt
        if not isinstance(stmt, If) or stmt.test != before:
            continue
        if joined in _nested_tests(stmt):
            return True
    return False


def _nested_tests(stmt: If) -> Iterator[list[E.Expr]]:
    """What `stmt` asks, and what it asks together with the `if` that is all its body, and so on."""
    asked = _conjuncts(stmt.test)
    yield asked
    while len(stmt.then) == 1 and not stmt.orelse and isinstance(stmt.then[0], If):
        stmt = stmt.then[0]
        asked = [*asked, *_conjuncts(stmt.test)]
        yield asked


def _conjuncts(test: E.Expr) -> list[E.Expr]:
    match test:
        case E.Binary(op="and", left=left, right=right):
            return [*_conjuncts(left), *_conjuncts(right)]
        case _:
            return [test]


def _places(form: E.Expr) -> set[E.Expr]:
    """The names and the attributes of `self` in `form`."""
    return {e for e in E.walk(form) if isinstance(e, E.Name) or _is_own_attribute(e)}


def _is_own_attribute(e: E.Expr) -> bool:
    return isinstance(e, E.Attr) and e.base == E.Name("self")


def _names(form: E.Expr) -> set[E.Expr]:
    return {e for e in E.walk(form) if isinstance(e, E.Name)}


def _expand(form: E.Expr, places: set[E.Expr], function: Function, unit: SourceFile) -> E.Expr:
    """`form` with each of `places` replaced by its value, where it is given just one.

    A name gets its value in the function, an attribute of `self` anywhere in the file.
    """

    def value_of(e: E.Expr) -> E.Expr | None:
        if e not in places:
            return None
        if isinstance(e, E.Name):
            values = _values_given(e, function)
        else:
            values = _values_of_attribute(e, unit)
        return values[0] if len(values) == 1 else None

    return E.substitute(form, value_of)


def _values_given(target: E.Expr, function: Function) -> list[E.Expr]:
    """What `target` is assigned in the function."""
    values: list[E.Expr] = []
    for guarded in guarded_statements(function.body):
        stmt = guarded.stmt
        if isinstance(stmt, Assign) and stmt.value is not None and stmt.target == target:
            values.append(stmt.value)
    return values


def _values_of_attribute(attribute: E.Expr, unit: SourceFile) -> list[E.Expr]:
    """What `self.x` is assigned in the file.

    The names of the function around it are replaced by their values.
    """
    path = re.escape(E.dotted(attribute) or "")
    assignment = re.compile(rf"{path}[\s\\)]*(?::[^=]*|[-+*/%@&|^<>]+)?=(?!=)")
    values: list[E.Expr] = []
    for function in functions_matching(assignment, unit):
        for value in _values_given(attribute, function):
            # Its names only: an attribute may be made of itself (`self.size = self.size or 1`).
            values.append(_expand(value, _names(value), function, unit))
    return values


def is_only_rerouted(alteration: Alteration, change: ChangeSet, config: Config) -> bool:
    """Whether the same attribute or key is only reached in another way: `self.level` or
    `self.inputs["level"]` for `self.config.level`.

    Where this change takes an attribute of that name away from something, siblings have to follow.
    """
    before, after = alteration.old_expression(), alteration.new_expression()
    if before is None or after is None or before == after:
        return False
    rerouted = _path_ends(before, without=after) | _path_ends(after, without=before)
    if not rerouted or _with_last_names(before) != _with_last_names(after):
        return False
    return not any(_is_taken_away(name, change, config) for name in rerouted)


def _path_ends(form: E.Expr, without: E.Expr) -> set[str]:
    """The last names of the paths (`self.config.level`, `self.inputs["level"]`) in `form` that are
    not in `without`."""
    known = set(E.walk(without))
    return {_path_end(e) for e in E.walk(form) if _path_end(e) and e not in known}


def _path_end(e: E.Expr) -> str:
    match e:
        case E.Attr(name=name) if E.dotted(e):
            return name
        case E.Index(base=base, indices=(E.Const(value=str() as key),)) if E.dotted(base):
            return key
        case _:
            return ""


def _with_last_names(form: E.Expr) -> E.Expr:
    """`form` with only the last name of each path, and with the arguments of a call by position."""

    def last_name(e: E.Expr) -> E.Expr | None:
        end = _path_end(e)
        return E.Name(end) if end else None

    match form:
        case E.Call(func=func, args=args, keywords=keywords) if keywords:
            form = E.Call(func, (*args, *(value for _, value in keywords)))
    return E.substitute(form, last_name)


def _is_taken_away(name: str, change: ChangeSet, config: Config) -> bool:
    """Whether a changed file of shared code declares or sets `name` on fewer lines than before."""
    declaration = re.compile(rf"^\s*(self\.)?{name}\s*(:[^=]*)?(=[^=]|$)|def {name}\(")
    for file in change.files:
        if not file.base_path or not file.base_path.endswith(".py"):
            continue
        if config.hardware_of(file.path):
            continue
        old_unit = change.unit(file.base_path, Side.BASE)
        if old_unit is None or not _count(declaration, _removed_lines(file, old_unit)):
            continue
        unit = change.head_unit(file)
        lines_now = unit.lines if unit is not None else ()
        if _count(declaration, lines_now) < _count(declaration, old_unit.lines):
            return True
    return False


def _removed_lines(file: FileChange, old_unit: SourceFile) -> list[str]:
    lines = old_unit.lines
    return [lines[number - 1] for number in sorted(file.base_lines()) if number <= len(lines)]


def _count(pattern: re.Pattern[str], lines: Iterable[str]) -> int:
    return sum(1 for line in lines if pattern.search(line))
