"""Packed words: which fields an expression puts where, and which fields a reader takes out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from checks.domain.bitfields.int_types import IntType, int_type
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function
from checks.lang.ir.stmt import Assign, GuardedStmt, Return, guarded_statements

RADIX = {1 << n: n for n in range(1, 64)}


@dataclass(frozen=True, slots=True)
class Part:
    """One field of a word: `expr`, cut to `mask` (None: not cut), moved left by `shift` bits."""

    expr: E.Expr
    shift: int = 0
    mask: int | None = None
    cast: IntType | None = None

    @property
    def constant(self) -> int | None:
        return (
            int(self.expr.value)
            if isinstance(self.expr, E.Const) and isinstance(self.expr.value, int)
            else None
        )


@dataclass(frozen=True, slots=True)
class Pack:
    """`target = part | part | ...` in `function`; parts come lowest first. `guarded` is the statement."""

    target: E.Expr | None
    parts: tuple[Part, ...]
    expr: E.Expr
    function: Function
    guarded: GuardedStmt

    @property
    def line(self) -> int:
        return self.guarded.stmt.line

    @property
    def end_line(self) -> int:
        return self.guarded.stmt.end_line

    def width(self, part: Part, bits: int) -> int:
        """Bits of room that `part` has before it runs into the next field, or out of a word of `bits`."""
        above = [p.shift for p in self.parts if p.shift > part.shift]
        return min([*above, bits]) - part.shift


@dataclass(frozen=True, slots=True)
class Unpack:
    """`(word >> shift) & mask` (mask None: everything above) in `expr`; `target` is what the field is called."""

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


def packs(function: Function) -> Iterator[Pack]:
    """Every packed word that `function` stores or returns, with single-use locals put back in."""
    return iter(function.body.memo(packs, lambda: tuple(_packs(function))))


def _packs(function: Function) -> Iterator[Pack]:
    flat = list(guarded_statements(function.body))
    local = single_assignments(flat)
    for guarded in flat:
        stmt = guarded.stmt
        value = stmt.value if isinstance(stmt, Assign | Return) else None
        if value is None:
            continue
        target = stmt.target if isinstance(stmt, Assign) else None
        expr = value
        if isinstance(value, E.Name) and value.id in local and _shifts(local[value.id]):
            expr = local[value.id]
        parts = fields(expr)
        if parts and is_pack(parts):
            yield Pack(target, tuple(sorted(parts, key=lambda p: p.shift)), expr, function, guarded)


def _shifts(expr: E.Expr) -> bool:
    return any(isinstance(e, E.Binary) and e.op in ("<<", "|") for e in E.walk(expr))


def single_assignments(flat: list[GuardedStmt]) -> dict[str, E.Expr]:
    """Local names that are assigned exactly once, with their value."""
    found: dict[str, list[E.Expr | None]] = {}
    for guarded in flat:
        stmt = guarded.stmt
        if isinstance(stmt, Assign) and isinstance(stmt.target, E.Name):
            if stmt.op == "=" and stmt.value is None:
                continue
            found.setdefault(stmt.target.id, []).append(stmt.value if stmt.op == "=" else None)
    return {n: v[0] for n, v in found.items() if len(v) == 1 and v[0] is not None}


def fields(expr: E.Expr) -> list[Part] | None:
    """The parts of an OR (or of a sum of shifted parts), None when `expr` is not made of parts."""
    match expr:
        case E.Binary(op="|" | "+", left=left, right=right):
            a, b = fields(left), fields(right)
            return [*a, *b] if a and b else None
        case E.Binary(op="<<", left=left, right=E.Const(value=int() as n)) if 0 <= n < 64:
            return [replace(p, shift=p.shift + n) for p in fields(left) or [Part(left)]]
        case E.Binary(op="*", left=left, right=E.Const(value=int() as n)) if n in RADIX:
            return [replace(p, shift=p.shift + RADIX[n]) for p in fields(left) or [Part(left)]]
        case E.Binary(op="&", left=left, right=E.Const(value=int() as mask)):
            return _masked(left, mask)
        case E.Binary(op="&", left=E.Const(value=int() as mask), right=right):
            return _masked(right, mask)
        case E.Cast(type=text, operand=operand):
            inner = fields(operand)
            kind = int_type(text)
            if inner and len(inner) == 1 and kind is not None and inner[0].shift == 0:
                return [replace(inner[0], cast=kind)]
            return inner
        case _:
            return [Part(expr)]


def _masked(inner: E.Expr, mask: int) -> list[Part]:
    parts = fields(inner)
    if parts and len(parts) == 1 and parts[0].mask is None:
        return [replace(parts[0], mask=mask >> parts[0].shift if parts[0].shift else mask)]
    return [Part(inner, 0, mask)]


def is_pack(parts: list[Part]) -> bool:
    """At least two fields at different shifts, one of them variable, none of them a plain flag constant alone."""
    shifts = [p.shift for p in parts]
    variable = [p for p in parts if p.constant is None]
    return (
        len(parts) > 1 and len(set(shifts)) == len(shifts) and max(shifts) > 0 and len(variable) > 1
    )


def by_or(expr: E.Expr) -> bool:
    """Whether the fields are joined by `|` (a sum with shifts is often an address, not a word)."""
    match expr:
        case E.Binary(op="|"):
            return True
        case E.Cast(operand=operand):
            return by_or(operand)
        case _:
            return False


def unpacks(function: Function) -> Iterator[Unpack]:
    """Every place where `function` takes a field out of a word by shift and mask."""
    return iter(function.body.memo(unpacks, lambda: tuple(_unpacks(function))))


def _unpacks(function: Function) -> Iterator[Unpack]:
    flat = list(guarded_statements(function.body))
    local = single_assignments(flat)
    for guarded in flat:
        stmt = guarded.stmt
        target = stmt.target if isinstance(stmt, Assign) else None
        value = getattr(stmt, "value", None) or getattr(stmt, "test", None)
        for expr in _outermost(value) if value is not None else ():
            taken = extract(expr)
            if taken is not None:
                word, shift, mask = taken
                yield Unpack(resolve(word, local), shift, mask, expr, target, function, guarded)


def _outermost(expr: E.Expr) -> Iterator[E.Expr]:
    if extract(expr) is not None:
        yield expr
        return
    for child in E.children(expr):
        yield from _outermost(child)


def extract(expr: E.Expr) -> tuple[E.Expr, int, int | None] | None:
    """(word, shift, mask) of `(word >> shift) & mask`, `word & mask`, `word >> shift`, `word % 2^n`, `word // 2^n`."""
    match expr:
        case E.Binary(op="&", left=left, right=E.Const(value=int() as mask)) if _is_mask(mask):
            word, shift = _shifted(left)
            return word, shift, mask
        case E.Binary(op="&", left=E.Const(value=int() as mask), right=right) if _is_mask(mask):
            word, shift = _shifted(right)
            return word, shift, mask
        case E.Binary(op=">>", right=E.Const(value=int() as n)) if n > 0:
            word, shift = _shifted(expr)
            return word, shift, None
        case E.Cast(operand=operand):
            return extract(operand)
        case E.Call(func=E.Name(id="int"), args=(arg,)):
            return extract(arg)
        case _:
            return None


def _is_mask(mask: int) -> bool:
    """A run of ones from bit 0, at least two of them (one bit is a flag test)."""
    return mask > 1 and mask & (mask + 1) == 0


def _shifted(expr: E.Expr) -> tuple[E.Expr, int]:
    match expr:
        case E.Binary(op=">>", left=left, right=E.Const(value=int() as n)):
            word, shift = _shifted(left)
            return word, shift + n
        case E.Cast(operand=operand):
            return _shifted(operand)
        case _:
            return expr, 0


def resolve(expr: E.Expr, local: dict[str, E.Expr], depth: int = 4) -> E.Expr:
    """`expr` behind conversions (`int(x)`, `x.item()`, casts) and single-assignment locals."""
    match expr:
        case E.Name(id=name) if name in local and depth:
            return resolve(local[name], local, depth - 1)
        case E.Cast(operand=operand):
            return resolve(operand, local, depth)
        case E.Call(func=E.Name(id="int"), args=(arg,)):
            return resolve(arg, local, depth)
        case E.Call(func=E.Attr(base=base, name="item" | "numpy" | "tolist")):
            return resolve(base, local, depth)
        case _:
            return expr
