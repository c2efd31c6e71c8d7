"""Tests of branches that a change wrote anew."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction
from checks.core.code import equal_code
from checks.core.config import Config
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import If, guarded_statements
from checks.summary.changes.pairs import altered_functions
from checks.summary.changes.sides import in_base, in_head

# Group 1 is the condition of C++, which stands in parentheses; group 2 that of Python.
_TEST = re.compile(
    r"(?:(?:\}?\s*else\s+)?if|while)\s*\((.*)\)\s*(?:\{|return[^;]*;|continue;|break;)?$"
    r"|(?:(?:el)?if|while)\s+(.*):(?:\s+#.*)?$"
)
_OPERATOR_AT_AN_END = re.compile(r"^(?:or|and|\|\||&&)\s+|\s+(?:or|and|\|\||&&)$")
_LEAST_OPERANDS = 3


@dataclass(frozen=True, slots=True)
class ConditionChange:
    """The test of a branch before and after, as written; where `part`, only one operand of it."""

    function: Function
    old: str
    new: str
    line: int
    part: bool = False


def find_condition_changes(change: ChangeSet, config: Config) -> Iterator[ConditionChange]:
    """Tests that were written anew in place: one went and one came in a hunk of a function."""
    for delta, base, base_file in altered_functions(change, config):
        file = change.changed(delta.head.path)
        if file is None:
            continue
        old_tests, new_tests = _tests_in(base), _tests_in(delta.head)
        for hunk in file.hunks:
            removed = [test for test in old_tests if in_base(test.line, hunk)]
            added = [test for test in new_tests if in_head(test.line, hunk)]
            if len(removed) != 1 or len(added) != 1:
                continue
            old, new = removed[0], added[0]
            if old == new or not E.names(old) & E.names(new):
                continue
            old_text, new_text = condition_text(old, base_file), condition_text(new, delta.unit)
            if old_text and new_text and old_text != new_text:
                yield ConditionChange(delta.head, old_text, new_text, new.line)
        yield from _find_changed_operands(delta, old_tests, new_tests, base_file)


def _find_changed_operands(
    delta: ChangedFunction,
    old_tests: list[E.Expr],
    new_tests: list[E.Expr],
    base_file: SourceFile,
) -> Iterator[ConditionChange]:
    """Of tests with one operand a line: the one operand that was exchanged for another."""
    for new_test in new_tests:
        new = _operands(new_test)
        lines = {operand.line for operand in new}
        if len(lines) < len(new) or len(new) < _LEAST_OPERANDS:
            continue
        for old_test in old_tests:
            old = _operands(old_test)
            removed, added = _without_equal(old, new), _without_equal(new, old)
            if len(old) != len(new) or len(removed) != 1 or len(added) != 1:
                continue
            line = added[0].line
            if delta.touched(line):
                before = _operand_text(removed[0], base_file)
                now = _operand_text(added[0], delta.unit)
                yield ConditionChange(delta.head, before, now, line, part=True)


def _without_equal(operands: list[E.Expr], others: list[E.Expr]) -> list[E.Expr]:
    """The operands that have no equal among the others."""
    return [o for o in operands if not any(equal_code(o, other) for other in others)]


def _operands(test: E.Expr) -> list[E.Expr]:
    """The operands of the outermost `and`s or `or`s, in order."""
    if not isinstance(test, E.Binary) or test.op not in ("and", "or"):
        return [test]
    operands = []
    for side in (test.left, test.right):
        if isinstance(side, E.Binary) and side.op == test.op:
            operands += _operands(side)
        else:
            operands.append(side)
    return operands


def _operand_text(operand: E.Expr, unit: SourceFile) -> str:
    """The line of an operand without the operator that joins it to its neighbour."""
    return _OPERATOR_AT_AN_END.sub("", unit.excerpt(operand.line))


def _tests_in(function: Function) -> list[E.Expr]:
    statements = [guarded.stmt for guarded in guarded_statements(function.body)]
    return [stmt.test for stmt in statements if isinstance(stmt, If)]


def condition_text(test: E.Expr, unit: SourceFile) -> str:
    """The condition as it stands on its line, empty where it goes over several lines."""
    match = _TEST.match(unit.excerpt(test.line))
    if match is None:
        return ""
    return (match[1] or match[2]).strip()
