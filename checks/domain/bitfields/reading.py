"""Fields taken out of packed words, recognised from the expressions of one function."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from checks.domain.bitfields.bit_solver import Word
from checks.domain.bitfields.packing import single_assignments
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function
from checks.lang.ir.stmt import Assign, GuardedStmt, Stmt, guarded_statements

# A local that is set to another local is followed this deep.
_MOST_LOCALS = 4


@dataclass(frozen=True, slots=True)
class FieldRead:
    """`(word >> shift) & mask` in `expr`; a mask of None takes everything above the shift.

    `target` is what the field is assigned to.
    """

    word: E.Expr
    shift: int
    mask: int | None
    expr: E.Expr
    target: E.Expr | None
    function: Function
    guarded: GuardedStmt

    @property
    def line(self) -> int:
        return self.expr.line or self.guarded.stmt.line

    def take(self, word: Word) -> Word:
        """The field of the signed `word`."""
        value = word >> self.shift
        return value if self.mask is None else value & self.mask


def field_reads(function: Function) -> Iterator[FieldRead]:
    """Every place where `function` takes a field out of a word by shift and mask."""
    statements = list(guarded_statements(function.body))
    local = single_assignments(statements)
    for guarded in statements:
        value = _value_or_test(guarded.stmt)
        if value is None:
            continue
        target = guarded.stmt.target if isinstance(guarded.stmt, Assign) else None
        for expr, (word, shift, mask) in _outermost_reads(value):
            plain = strip_conversions(word, local)
            yield FieldRead(plain, shift, mask, expr, target, function, guarded)


def _value_or_test(stmt: Stmt) -> E.Expr | None:
    value: E.Expr | None = getattr(stmt, "value", None)
    if value is None:
        value = getattr(stmt, "test", None)
    return value


# (word, shift, mask) of one read.
_Read = tuple[E.Expr, int, int | None]


def _outermost_reads(expr: E.Expr) -> Iterator[tuple[E.Expr, _Read]]:
    """The reads in `expr`, without those inside of another one."""
    read = _match_read(expr)
    if read is not None:
        yield expr, read
        return
    for child in E.children(expr):
        yield from _outermost_reads(child)


def _match_read(expr: E.Expr) -> _Read | None:
    """`(word >> shift) & mask`, `word & mask` or `word >> shift`, through conversions."""
    match expr:
        case E.Binary(op="&", left=left, right=E.Const(value=int() as mask)) if _is_mask(mask):
            return (*_word_and_shift(left), mask)
        case E.Binary(op="&", left=E.Const(value=int() as mask), right=right) if _is_mask(mask):
            return (*_word_and_shift(right), mask)
        case E.Binary(op=">>", right=E.Const(value=int() as shift)) if shift > 0:
            return (*_word_and_shift(expr), None)
        case E.Cast(operand=operand):
            return _match_read(operand)
        case E.Call(func=E.Name(id="int"), args=(argument,)):
            return _match_read(argument)
        case _:
            return None


def _is_mask(mask: int) -> bool:
    """A run of ones from bit 0, at least two of them (one bit is a flag test)."""
    return mask > 1 and mask & (mask + 1) == 0


def _word_and_shift(expr: E.Expr) -> tuple[E.Expr, int]:
    match expr:
        case E.Binary(op=">>", left=left, right=E.Const(value=int() as n)):
            word, shift = _word_and_shift(left)
            return word, shift + n
        case E.Cast(operand=operand):
            return _word_and_shift(operand)
        case _:
            return expr, 0


def strip_conversions(expr: E.Expr, local: dict[str, E.Expr], depth: int = _MOST_LOCALS) -> E.Expr:
    """`expr` behind `int(x)`, `x.item()`, casts, and locals that are assigned once."""
    match expr:
        case E.Name(id=name) if name in local and depth:
            return strip_conversions(local[name], local, depth - 1)
        case E.Cast(operand=operand):
            return strip_conversions(operand, local, depth)
        case E.Call(func=E.Name(id="int"), args=(argument,)):
            return strip_conversions(argument, local, depth)
        case E.Call(func=E.Attr(base=base, name="item" | "numpy" | "tolist")):
            return strip_conversions(base, local, depth)
        case _:
            return expr
