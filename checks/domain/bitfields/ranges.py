"""What values a field can have where a word is packed: from its declared type, and from the
conditions that hold there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import z3

from checks.domain.bitfields.int_types import INT32, INT64, SOLVER_TIMEOUT_MS, int_type
from checks.domain.bitfields.packing import BitField, PackExpr, single_assignments
from checks.eval.integers import CIntType
from checks.lang.ir import expr as E
from checks.lang.ir.render import source_of
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Assert, Assign, GuardedStmt, guarded_statements

# A field this wide has no field above it that could be spilled into.
_WIDEST_FIELD = 30


class Ranges:
    """The values that fields can have at the statement `at` of `function`."""

    def __init__(self, function: Function, unit: SourceFile, at: GuardedStmt) -> None:
        self._language = unit.language
        statements = list(guarded_statements(function.body))
        self._local = single_assignments(statements)
        self._types = _declared_types(function, statements)
        self._facts = [*_asserted_before(at, statements), *at.guards]

    def type_of(self, expr: E.Expr) -> CIntType:
        """The declared type of `expr`; where it is not known, `int` in C++ and a 64-bit integer in
        Python."""
        if isinstance(expr, E.Cast):
            return int_type(expr.type) or INT32
        if isinstance(expr, E.Name):
            known = self._types.get(expr.id)
            if known is not None:
                return known
        return INT64 if self._language == "python" else INT32

    def bits_of(self, pack: PackExpr) -> int:
        """The width of the word: of its widest field, at least an int."""
        return max(32, *(self._type_of_field(field).bits for field in pack.fields))

    def _type_of_field(self, field: BitField) -> CIntType:
        return field.cast or self.type_of(field.expr)

    def overflow(self, field: BitField, width: int) -> int | None:
        """A value of the field that does not fit `width` bits and that nothing here rules out.

        None where there is no such value. Negative values of a signed field of the word's own width
        are not considered: sizes are rarely negative.
        """
        if field.constant is not None:
            fits = 0 <= field.constant < 1 << width
            return None if fits else field.constant
        if field.mask is None:
            is_masked = self._is_masked_before(field.expr)
        else:
            is_masked = field.mask < 1 << width
        type_ = self._type_of_field(field)
        if is_masked or type_.highest < 1 << width or width > _WIDEST_FIELD:
            return None
        facts = [fact for fact in self._facts if self._mentions(fact, field.expr)]
        if not facts:
            return 1 << width
        return _smallest_beyond(width, self._key(field.expr), facts, type_, self._key)

    def _is_masked_before(self, expr: E.Expr) -> bool:
        """Whether a local was set to a masked value, also by a mask that is no number."""
        value = expr
        if isinstance(expr, E.Name):
            value = self._local.get(expr.id, expr)
        return isinstance(value, E.Binary) and value.op == "&"

    def _mentions(self, fact: E.Expr, expr: E.Expr) -> bool:
        key = self._key(expr)
        return any(self._key(part) == key for part in E.walk(fact))

    def _key(self, expr: E.Expr) -> str:
        """Equal for expressions that mean the same value: a local stands for what it was set to."""
        if isinstance(expr, E.Cast):
            return self._key(expr.operand)
        if isinstance(expr, E.Name):
            value = self._local.get(expr.id)
            if isinstance(value, E.Name | E.Attr | E.Cast):
                return self._key(value)
        return source_of(expr)

    def text(self, expr: E.Expr | None) -> str:
        """`expr` as source, short; empty for None."""
        return "" if expr is None else source_of(expr)


def _declared_types(
    function: Function, statements: list[GuardedStmt]
) -> dict[str, CIntType | None]:
    """The integer type of each parameter and local, None for a pointer or another type."""
    declared = {param.name: param.type for param in function.params}
    for guarded in statements:
        stmt = guarded.stmt
        if isinstance(stmt, Assign) and stmt.declares and isinstance(stmt.target, E.Name):
            declared[stmt.target.id] = stmt.declares
    types: dict[str, CIntType | None] = {}
    for name, text in declared.items():
        types[name] = None if "*" in text else int_type(text)
    return types


def _asserted_before(at: GuardedStmt, statements: list[GuardedStmt]) -> list[E.Expr]:
    """The assertions that have held on every way to `at`."""
    facts = []
    for guarded in statements:
        stmt = guarded.stmt
        if not isinstance(stmt, Assert) or stmt.line >= at.stmt.line:
            continue
        if set(guarded.guards) <= set(at.guards):
            facts.append(stmt.test)
    return facts


def _smallest_beyond(
    width: int,
    key: str,
    facts: list[E.Expr],
    type_: CIntType,
    key_of: Callable[[E.Expr], str],
) -> int | None:
    """A value beyond `width` bits that all `facts` allow for the expression `key`.

    The smallest where it is allowed itself; None when the solver finds none.
    """
    limit = 1 << width
    value = z3.Int("x")
    solver = z3.Solver()
    solver.set("timeout", SOLVER_TIMEOUT_MS)
    solver.add(value >= max(type_.lowest, 0), value <= type_.highest)
    for fact in facts:
        term = _condition(fact, key, value, key_of)
        if term is not None:
            solver.add(term)
    solver.push()
    solver.add(value == limit)
    if solver.check() == z3.sat:
        return limit
    solver.pop()
    solver.add(value > limit)
    if solver.check() != z3.sat:
        return None
    model_value = solver.model()[value]
    return int(model_value.as_long()) if model_value is not None else None


def _condition(fact: E.Expr, key: str, x: Any, key_of: Callable[[E.Expr], str]) -> Any:
    """A fact about `x` alone as a solver term, None where it says something else.

    A term may say less than the fact, never more, so that no value is ruled out wrongly.
    """
    match fact:
        case E.Binary(op="and", left=left, right=right):
            sides = (_condition(left, key, x, key_of), _condition(right, key, x, key_of))
            terms = [term for term in sides if term is not None]
            return z3.And(*terms) if terms else None
        case E.Binary(op="or", left=left, right=right):
            first = _condition(left, key, x, key_of)
            second = _condition(right, key, x, key_of)
            if first is None or second is None:
                return None
            return z3.Or(first, second)
        case E.Unary(op="not", operand=operand):
            # The negation of a term that says less than its fact would say more.
            if _contains_and(operand):
                return None
            term = _condition(operand, key, x, key_of)
            return None if term is None else z3.Not(term)
        case E.Binary(op=op, left=left, right=right):
            first = _term(left, key, x, key_of)
            second = _term(right, key, x, key_of)
            if first is None or second is None:
                return None
            return _comparison(op, first, second)
        case _:
            return None


def _contains_and(expr: E.Expr) -> bool:
    return any(isinstance(part, E.Binary) and part.op == "and" for part in E.walk(expr))


def _comparison(op: str, left: Any, right: Any) -> Any:
    match op:
        case "==":
            return left == right
        case "!=":
            return left != right
        case "<":
            return left < right
        case "<=":
            return left <= right
        case ">":
            return left > right
        case ">=":
            return left >= right
        case _:
            return None


def _term(expr: E.Expr, key: str, x: Any, key_of: Callable[[E.Expr], str]) -> Any:
    """A number, `x`, or a sum or remainder of those; None for anything else."""
    if key_of(expr) == key:
        return x
    match expr:
        case E.Const(value=int() as value):
            return int(value)
        case E.Binary(op="&", left=left, right=E.Const(value=int() as mask)):
            # Masking with a run of ones is a remainder, which the solver knows for integers.
            inner = _term(left, key, x, key_of)
            is_run_of_ones = mask & (mask + 1) == 0
            return inner % (mask + 1) if inner is not None and is_run_of_ones else None
        case E.Binary(op="+" | "-" as op, left=left, right=right):
            first = _term(left, key, x, key_of)
            second = _term(right, key, x, key_of)
            if first is None or second is None:
                return None
            return first + second if op == "+" else first - second
        case _:
            return None
