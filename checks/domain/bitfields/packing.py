"""Words packed from bit fields, recognised from the expressions of one function."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from checks.domain.bitfields.bit_solver import Word
from checks.domain.bitfields.int_types import int_type
from checks.eval.integers import CIntType
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function
from checks.lang.ir.stmt import Assign, GuardedStmt, Return, guarded_statements

_LOG2 = {1 << exponent: exponent for exponent in range(1, 64)}


@dataclass(frozen=True, slots=True)
class BitField:
    """One field of a word: `expr`, cut to `mask` (None: not cut), moved left by `shift` bits."""

    expr: E.Expr
    shift: int = 0
    mask: int | None = None
    cast: CIntType | None = None

    @property
    def constant(self) -> int | None:
        """The field's value, where it is a plain number."""
        if isinstance(self.expr, E.Const) and isinstance(self.expr.value, int):
            return int(self.expr.value)
        return None

    def cut(self, value: Word) -> Word:
        """What the sender's mask leaves of `value`."""
        return value if self.mask is None else value & self.mask


@dataclass(frozen=True, slots=True)
class PackExpr:
    """`target = field | field | ...` in `function`, lowest field first.

    `guarded` is the statement; `target` is None where the word is returned.
    """

    target: E.Expr | None
    fields: tuple[BitField, ...]
    expr: E.Expr
    function: Function
    guarded: GuardedStmt

    @property
    def line(self) -> int:
        return self.guarded.stmt.line

    @property
    def end_line(self) -> int:
        return self.guarded.stmt.end_line

    def width(self, field: BitField, bits: int) -> int:
        """Bits of room that `field` has before the next field, or the end of a word of `bits`."""
        above = [other.shift for other in self.fields if other.shift > field.shift]
        return min([*above, bits]) - field.shift

    def pack(self, values: list[int] | tuple[int, ...], bits: int) -> int:
        """The signed word of `bits` bits with `values` in its fields."""
        word = 0
        for field, value in zip(self.fields, values, strict=True):
            word |= field.cut(value) << field.shift
        word &= (1 << bits) - 1
        is_negative = word >> (bits - 1)
        return word - (1 << bits) if is_negative else word


def pack_expressions(function: Function) -> Iterator[PackExpr]:
    """Every packed word that `function` stores or returns.

    A word that is put into a local first is found where the local is stored.
    """
    statements = list(guarded_statements(function.body))
    local = single_assignments(statements)
    for guarded in statements:
        stmt = guarded.stmt
        if not isinstance(stmt, Assign | Return) or stmt.value is None:
            continue
        expr = _behind_local(stmt.value, local)
        fields = split_fields(expr)
        if _is_pack(fields):
            target = stmt.target if isinstance(stmt, Assign) else None
            in_order = tuple(sorted(fields, key=lambda field: field.shift))
            yield PackExpr(target, in_order, expr, function, guarded)


def _behind_local(value: E.Expr, local: dict[str, E.Expr]) -> E.Expr:
    """The shifts and ORs that `value` was set to, where it is a local; else `value`."""
    if not isinstance(value, E.Name) or value.id not in local:
        return value
    assigned = local[value.id]
    for part in E.walk(assigned):
        if isinstance(part, E.Binary) and part.op in ("<<", "|"):
            return assigned
    return value


def single_assignments(statements: list[GuardedStmt]) -> dict[str, E.Expr]:
    """Local names that are assigned exactly once, with their value."""
    assigned: dict[str, list[E.Expr | None]] = {}
    for guarded in statements:
        stmt = guarded.stmt
        if not isinstance(stmt, Assign) or not isinstance(stmt.target, E.Name):
            continue
        is_bare_declaration = stmt.op == "=" and stmt.value is None
        if not is_bare_declaration:
            # `x += 1` gives the name a value of which nothing is known.
            value = stmt.value if stmt.op == "=" else None
            assigned.setdefault(stmt.target.id, []).append(value)
    single: dict[str, E.Expr] = {}
    for name, values in assigned.items():
        if len(values) == 1 and values[0] is not None:
            single[name] = values[0]
    return single


def split_fields(expr: E.Expr) -> list[BitField]:
    """The fields of an OR, or of a sum of shifted values; `expr` itself where it is neither."""
    match expr:
        case E.Binary(op="|" | "+", left=left, right=right):
            return [*split_fields(left), *split_fields(right)]
        case E.Binary(op="<<", left=left, right=E.Const(value=int() as n)) if 0 <= n < 64:
            return _shifted_fields(left, n)
        case E.Binary(op="*", left=left, right=E.Const(value=int() as n)) if n in _LOG2:
            return _shifted_fields(left, _LOG2[n])
        case E.Binary(op="&", left=left, right=E.Const(value=int() as mask)):
            return [_masked_field(left, mask)]
        case E.Binary(op="&", left=E.Const(value=int() as mask), right=right):
            return [_masked_field(right, mask)]
        case E.Cast(type=text, operand=operand):
            return _cast_fields(text, operand)
        case _:
            return [BitField(expr)]


def _shifted_fields(expr: E.Expr, shift: int) -> list[BitField]:
    return [replace(field, shift=field.shift + shift) for field in split_fields(expr)]


def _masked_field(expr: E.Expr, mask: int) -> BitField:
    fields = split_fields(expr)
    if len(fields) != 1 or fields[0].mask is not None:
        return BitField(expr, 0, mask)
    # `(x << 8) & 0xFF00` cuts x to 0xFF.
    return replace(fields[0], mask=mask >> fields[0].shift)


def _cast_fields(text: str, operand: E.Expr) -> list[BitField]:
    fields = split_fields(operand)
    cast = int_type(text)
    if len(fields) == 1 and cast is not None and fields[0].shift == 0:
        return [replace(fields[0], cast=cast)]
    return fields


def _is_pack(fields: list[BitField]) -> bool:
    """At least two fields at different shifts, and two that vary: a constant is a plain flag."""
    shifts = {field.shift for field in fields}
    if len(fields) < 2 or len(shifts) < len(fields) or max(shifts) == 0:
        return False
    varying = [field for field in fields if field.constant is None]
    return len(varying) > 1


def is_joined_by_or(expr: E.Expr) -> bool:
    """Whether the fields are joined by `|`: a sum with shifts is often an address, not a word."""
    match expr:
        case E.Binary(op="|"):
            return True
        case E.Cast(operand=operand):
            return is_joined_by_or(operand)
        case _:
            return False
