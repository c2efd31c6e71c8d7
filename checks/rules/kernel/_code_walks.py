"""Walks over code that several rules make: the calls of a name, the expressions of statements."""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.domain.ops import calls_of, expressions_of
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import GuardedStmt


def calls_in_file(
    name: str, unit: SourceFile
) -> Iterator[tuple[Function, E.Call, tuple[E.Expr, ...]]]:
    """(function, call, conditions) of every call of `name`, in source order.

    Functions that do not have the name in their text are not looked into: most files name what is
    called in one function out of many.
    """
    # Of `ns::f` and `a.f` the last word stands in the text, whatever stands between.
    words = re.findall(r"\w+", name)
    for function in unit.functions_naming(words[-1]) if words else ():
        for call, guards in calls_of(function.body):
            if E.callee(call) == name:
                yield function, call, guards


def expressions_in(statements: list[GuardedStmt]) -> Iterator[tuple[GuardedStmt, E.Expr]]:
    """(statement, expression) of everything that stands in the statements, outer before inner."""
    for guarded in statements:
        for top in expressions_of(guarded.stmt):
            for e in E.walk(top):
                yield guarded, e
