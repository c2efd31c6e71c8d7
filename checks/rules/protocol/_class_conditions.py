"""Conditions in the methods of a class, comparable from one method to another.

A class often decides once in `__init__` (`self.speculative = cfg.method is not None`) and asks that
attribute everywhere else. Each attribute is replaced by what `__init__` sets it to, so that both
spellings of the same condition are equal.
"""

from __future__ import annotations

from collections.abc import Iterator

from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Assign, guarded_statements

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


def are_compatible(first: Conditions, second: Conditions) -> bool:
    """Whether both can hold together, as far as they speak of the same things."""
    for condition, holds in second.items():
        if condition in first and first[condition] != holds:
            return False
    return True


def _elementary(test: E.Expr, *, holds: bool) -> Iterator[tuple[E.Expr, bool]]:
    """The parts of `test` that are known true or false when `test` is true (or false)."""
    match test:
        case E.Unary(op="not", operand=operand):
            yield from _elementary(operand, holds=not holds)
        case E.Binary(op="and", left=left, right=right) if holds:
            yield from _elementary(left, holds=True)
            yield from _elementary(right, holds=True)
        case E.Binary(op="or", left=left, right=right) if not holds:
            yield from _elementary(left, holds=False)
            yield from _elementary(right, holds=False)
        case E.Binary(op="is-not" | "!=", left=left, right=E.Const(value=None)):
            yield from _elementary(left, holds=holds)
        case E.Binary(op="is" | "==", left=left, right=E.Const(value=None)):
            yield from _elementary(left, holds=not holds)
        case _:
            yield test, holds


def _attribute_values(unit: SourceFile, owner: str) -> dict[str, E.Expr]:
    """`self.x` -> its value, for attributes that `__init__` sets once to a condition or another
    attribute."""
    values: dict[str, list[E.Expr]] = {}
    for function in unit.functions:
        if function.owner == owner and function.name == "__init__":
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
