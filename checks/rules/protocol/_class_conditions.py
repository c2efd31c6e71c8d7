"""Conditions in the methods of a class, comparable from one method to another.

A class often decides once in `__init__` (`self.speculative = cfg.method is not None`) and asks that
attribute everywhere else. Each attribute is replaced by what `__init__` sets it to, so that both
spellings of the same condition are equal.
"""

from __future__ import annotations

from collections.abc import Iterator

from checks.domain.conditions import split_condition
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Assign, GuardedStmt, guarded_statements

# An elementary condition, and whether it holds.
Conditions = dict[E.Expr, bool]


def class_conditions(guards: tuple[E.Expr, ...], unit: SourceFile, owner: str) -> Conditions:
    """`guards`, which stand in a method of the class `owner`, split into elementary conditions."""
    values = unit.memo((class_conditions, owner), lambda: _attribute_values(unit, owner))

    def value_of(part: E.Expr) -> E.Expr | None:
        if not isinstance(part, E.Attr):
            return None
        return values.get(E.dotted(part) or "")

    conditions: Conditions = {}
    for guard in guards:
        conditions.update(_elementary(E.substitute(guard, value_of), holds=True))
    return conditions


def statements_with_conditions(
    function: Function, unit: SourceFile
) -> list[tuple[GuardedStmt, Conditions]]:
    """The statements of a method, each with the conditions under which it runs."""
    # Asked for once for each buffer of the class.
    return function.body.memo(
        statements_with_conditions, lambda: list(_statements_with_conditions(function, unit))
    )


def _statements_with_conditions(
    function: Function, unit: SourceFile
) -> Iterator[tuple[GuardedStmt, Conditions]]:
    for guarded in guarded_statements(function.body):
        yield guarded, class_conditions(guarded.guards, unit, function.owner)


def _elementary(test: E.Expr, *, holds: bool) -> Iterator[tuple[E.Expr, bool]]:
    """The parts of a condition; `x is not None` counts as `x`."""
    for part, part_holds in split_condition(test, holds=holds):
        match part:
            case E.Binary(op="is-not" | "!=", left=left, right=E.Const(value=None)):
                yield from _elementary(left, holds=part_holds)
            case E.Binary(op="is" | "==", left=left, right=E.Const(value=None)):
                yield from _elementary(left, holds=not part_holds)
            case _:
                yield part, part_holds


def _attribute_values(unit: SourceFile, owner: str) -> dict[str, E.Expr]:
    """`self.x` -> its value, for attributes that `__init__` sets once to a condition or another
    attribute."""
    values: dict[str, list[E.Expr]] = {}
    for function in unit.methods_of(owner):
        if function.name == "__init__":
            for name, value in _attributes_set(function):
                values.setdefault(name, []).append(value)
    single: dict[str, E.Expr] = {}
    for name, assigned in values.items():
        value = assigned[0]
        # `self.x = self.x or y` would be replaced for ever.
        is_recursive = name in {E.dotted(part) for part in E.walk(value)}
        if len(assigned) == 1 and not is_recursive and isinstance(value, E.Attr | E.Binary):
            single[name] = value
    return single


def _attributes_set(function: Function) -> Iterator[tuple[str, E.Expr]]:
    for guarded in guarded_statements(function.body):
        stmt = guarded.stmt
        if not isinstance(stmt, Assign) or stmt.value is None:
            continue
        name = E.dotted(stmt.target)
        if name is not None and name.startswith("self."):
            yield name, stmt.value
