"""What values a field can have at a place: from its declared type, and from the conditions that hold there."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from checks.domain.bitfields.expressions import Pack, Part, single_assignments
from checks.domain.bitfields.int_types import INT, INT64, TIMEOUT_MS, IntType, int_type
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Assert, Assign, GuardedStmt, guarded_statements


@dataclass
class Ranges:
    """Values at the statement `at` of `function`."""

    function: Function
    unit: SourceFile
    at: GuardedStmt
    _types: dict[str, IntType | None] = field(default_factory=dict)
    _local: dict[str, E.Expr] = field(default_factory=dict)
    _facts: list[E.Expr] = field(default_factory=list)

    def __post_init__(self) -> None:
        flat = list(guarded_statements(self.function.body))
        self._local = single_assignments(flat)
        for parameter in self.function.params:
            self._types[parameter.name] = (
                int_type(parameter.type) if "*" not in parameter.type else None
            )
        for guarded in flat:
            stmt = guarded.stmt
            if isinstance(stmt, Assign) and stmt.declares and isinstance(stmt.target, E.Name):
                self._types[stmt.target.id] = (
                    int_type(stmt.declares) if "*" not in stmt.declares else None
                )
            if (
                isinstance(stmt, Assert)
                and stmt.line < self.at.stmt.line
                and set(guarded.guards) <= set(self.at.guards)
            ):
                self._facts.append(stmt.test)
        self._facts += self.at.guards

    def type_of(self, expr: E.Expr) -> IntType:
        """The declared type of `expr`; `int` in C++ and a 64-bit integer in Python where it is not known."""
        if isinstance(expr, E.Cast):
            return int_type(expr.type) or INT
        known = self._types.get(expr.id) if isinstance(expr, E.Name) else None
        return known or (INT64 if self.unit.language == "python" else INT)

    def bits_of(self, pack: Pack) -> int:
        """The width of the word: of the widest part, at least an int."""
        return max(32, *(self._width(p) for p in pack.parts))

    def _width(self, part: Part) -> int:
        return part.cast.bits if part.cast else self.type_of(part.expr).bits

    def overflow(self, part: Part, width: int) -> int | None:
        """A value of the field that does not fit `width` bits and that nothing here rules out, else None.

        Negative values of a signed field of the word's own width are not considered: sizes are rarely negative.
        """
        if part.constant is not None:
            return part.constant if not 0 <= part.constant < 1 << width else None
        if part.mask is not None and part.mask < 1 << width:
            return None
        if part.mask is None and self._masked(part.expr):
            return None
        kind = part.cast or self.type_of(part.expr)
        if kind.highest < 1 << width or width >= 31:
            return None
        return self._satisfiable(part.expr, width, kind)

    def _masked(self, expr: E.Expr) -> bool:
        """Whether a mask of which nothing is known, such as a tensor, keeps some of its bits alone."""
        value = self._local.get(expr.id, expr) if isinstance(expr, E.Name) else expr
        return isinstance(value, E.Binary) and value.op == "&"

    def _satisfiable(self, expr: E.Expr, width: int, kind: IntType) -> int | None:
        facts = [f for f in self._facts if self._mentions(f, expr)]
        value = 1 << width
        if not facts:
            return value
        return _solve(expr, self._key(expr), facts, width, kind, self._key)

    def _mentions(self, fact: E.Expr, expr: E.Expr) -> bool:
        key = self._key(expr)
        return any(self._key(e) == key for e in E.walk(fact))

    def _key(self, expr: E.Expr) -> str:
        """Equal for expressions that mean the same value: a local stands for what it was set to."""
        if isinstance(expr, E.Name) and expr.id in self._local:
            inner = self._local[expr.id]
            if isinstance(inner, E.Name | E.Attr | E.Cast):
                return self._key(inner)
        return self._key(expr.operand) if isinstance(expr, E.Cast) else source_of(expr)

    def text(self, expr: E.Expr | None) -> str:
        """`expr` as source, short."""
        return "" if expr is None else source_of(expr)


def _solve(
    expr: E.Expr,
    key: str,
    facts: list[E.Expr],
    width: int,
    kind: IntType,
    name: Callable[[E.Expr], str],
) -> int | None:
    """The smallest value of `expr` beyond `width` bits that all `facts` allow; None when the solver finds none."""
    import z3

    x = z3.Int("x")
    solver = z3.Solver()
    solver.set("timeout", TIMEOUT_MS)
    solver.add(x >= max(kind.lowest, 0), x <= kind.highest)
    for fact in facts:
        term = _condition(fact, key, x, name)
        if term is not None:
            solver.add(term)
    limit = 1 << width
    solver.push()
    solver.add(x == limit)
    if solver.check() == z3.sat:
        return limit
    solver.pop()
    solver.add(x > limit)
    if solver.check() != z3.sat:
        return None
    found = solver.model()[x]
    return int(found.as_long()) if found is not None else None


def _condition(fact: E.Expr, key: str, x: Any, name: Callable[[E.Expr], str]) -> Any:
    """A fact about `x` alone as a solver term, None where it says something else."""
    import z3

    match fact:
        case E.Binary(op="and", left=left, right=right):
            terms = [
                t
                for t in (_condition(left, key, x, name), _condition(right, key, x, name))
                if t is not None
            ]
            return z3.And(*terms) if terms else None
        case E.Binary(op="or", left=left, right=right):
            a, b = _condition(left, key, x, name), _condition(right, key, x, name)
            return z3.Or(a, b) if a is not None and b is not None else None
        case E.Unary(op="not", operand=operand):
            term = _condition(operand, key, x, name)
            exact = not any(isinstance(e, E.Binary) and e.op == "and" for e in E.walk(operand))
            return z3.Not(term) if term is not None and exact else None
        case E.Binary(op="==" | "!=" | "<" | "<=" | ">" | ">=" as op, left=left, right=right):
            a, b = _term(left, key, x, name), _term(right, key, x, name)
            if a is None or b is None:
                return None
            return {"==": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[
                op
            ]
        case _:
            return None


def _term(e: E.Expr, key: str, x: Any, name: Callable[[E.Expr], str]) -> Any:
    if name(e) == key:
        return x
    match e:
        case E.Const(value=int() as value):
            return int(value)
        case E.Binary(op="&", left=left, right=E.Const(value=int() as mask)) if (
            mask & (mask + 1) == 0
        ):
            inner = _term(left, key, x, name)
            return inner % (mask + 1) if inner is not None else None
        case E.Binary(op="+" | "-" as op, left=left, right=right):
            a, b = _term(left, key, x, name), _term(right, key, x, name)
            if a is None or b is None:
                return None
            return a + b if op == "+" else a - b
        case _:
            return None


_SPELL = {"and": "&&", "or": "||"}


def source_of(e: E.Expr) -> str:
    """A readable one-line form of an expression."""
    match e:
        case E.Const(value=value):
            return str(value)
        case E.Name(id=name):
            return name
        case E.Attr(base=base, name=name):
            return f"{source_of(base)}.{name}"
        case E.Index(base=base, indices=indices):
            return f"{source_of(base)}[{', '.join(map(source_of, indices))}]"
        case E.Slice(lower=lower, upper=upper):
            return f"{source_of(lower) if lower else ''}:{source_of(upper) if upper else ''}"
        case E.Call(func=func, args=args):
            return f"{source_of(func)}({', '.join(map(source_of, args))})"
        case E.Unary(op=op, operand=operand):
            return f"{'!' if op == 'not' else op}{source_of(operand)}"
        case E.Binary(op="&", left=left, right=E.Const(value=int() as mask)) if mask > 9:
            return f"{_nest(left, '&')} & 0x{mask:X}"
        case E.Binary(op=op, left=left, right=right):
            return f"{_nest(left, op)} {_SPELL.get(op, op)} {_nest(right, op)}"
        case E.Cast(type=text, operand=operand):
            return f"({text}){_nest(operand, '')}"
        case E.Ternary(test=test, then=then, orelse=orelse):
            return f"{source_of(test)} ? {source_of(then)} : {source_of(orelse)}"
        case E.Sequence(items=items):
            return f"[{', '.join(map(source_of, items))}]"
        case E.Unknown(text=text):
            return re.sub(r"\s+", " ", text)
        case _:
            return type(e).__name__.lower()


def _nest(e: E.Expr, op: str) -> str:
    loose = isinstance(e, E.Ternary) or (isinstance(e, E.Binary) and e.op != op)
    return f"({source_of(e)})" if loose else source_of(e)
