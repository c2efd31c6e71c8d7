"""Machine integers for the solver: expressions of C++ and Python as bit vectors of their declared types.

C++ follows the usual conversions: what is narrower than `int` becomes `int`, the wider operand wins, at equal width
the unsigned one; `>>` is arithmetic for a signed left side. Python's integers are taken as 64-bit signed, the type
of the arrays they are read from.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from checks.ir import expr as E

TIMEOUT_MS = 2000


@dataclass(frozen=True, slots=True)
class IntType:
    bits: int
    signed: bool

    @property
    def lowest(self) -> int:
        return -(1 << self.bits - 1) if self.signed else 0

    @property
    def highest(self) -> int:
        return (1 << self.bits - self.signed) - 1

    def wrap(self, value: int) -> int:
        """`value` as this type stores it."""
        value &= (1 << self.bits) - 1
        return value - (1 << self.bits) if self.signed and value >> (self.bits - 1) else value


INT = IntType(32, True)
INT64 = IntType(64, True)
_QUALIFIERS = frozenset({"const", "static", "constexpr", "volatile", "std", "inline", "__restrict__"})
_SIZES = {"char": 8, "short": 16, "int": 32, "long": 64, "size_t": 64, "ssize_t": 64, "ptrdiff_t": 64, "bool": 1}


def int_type(text: str) -> IntType | None:
    """The integer type that a C++ or numpy type name means, None for anything else (`auto`, a tensor)."""
    words = set(re.findall(r"\w+", text)) - {
        "const",
        "static",
        "constexpr",
        "volatile",
        "std",
        "inline",
        "__restrict__",
    }
    sized = next((re.fullmatch(r"(u?)int(8|16|32|64)(_t)?", w) for w in words if w.startswith(("int", "uint"))), None)
    if sized and sized[2]:
        return IntType(int(sized[2]), not sized[1])
    signed = "unsigned" not in words and "size_t" not in words and "bool" not in words
    base = words - {"unsigned", "signed"}
    for name in ("bool", "char", "short", "long", "size_t", "ssize_t", "ptrdiff_t", "int"):
        if name in base and base <= {"int", name}:
            return IntType(_SIZES[name], signed)
    return (
        INT
        if words and words <= {"unsigned", "signed"} and signed
        else IntType(32, False)
        if base == set() and words
        else None
    )


def common(a: IntType, b: IntType) -> IntType:
    """The type of `a + b` in C++."""
    a, b = promote(a), promote(b)
    if a.bits != b.bits:
        return a if a.bits > b.bits else b
    return IntType(a.bits, a.signed and b.signed)


def promote(a: IntType) -> IntType:
    return INT if a.bits < 32 else a


class Undefined(ValueError):
    """C++ leaves the result open: a shift by a negative amount or by the width or more."""


@dataclass
class Evaluator:
    """Concrete evaluation of an integer expression in its declared types."""

    value: Callable[[E.Expr], int | None]
    type: Callable[[E.Expr], IntType]
    python: bool = False

    def run(self, e: E.Expr) -> tuple[int, IntType] | None:
        """(value, type) of `e`, or None where a part is not an integer that we know. Raises Undefined."""
        known = self.value(e)
        if known is not None:
            kind = self.type(e)
            return (known if self.python else kind.wrap(known)), kind
        match e:
            case E.Const(value=int() as value):
                return int(value), self.type(e)
            case E.Cast(type=text, operand=operand):
                inner, target = self.run(operand), int_type(text)
                return (target.wrap(inner[0]), target) if inner and target else inner
            case E.Unary(op="-" | "~" | "+" as op, operand=operand):
                inner = self.run(operand)
                return self._unary(op, inner) if inner else None
            case E.Binary(op=op, left=left, right=right):
                a, b = self.run(left), self.run(right)
                return self._binary(op, a, b) if a and b else None
        return None

    def _unary(self, op: str, inner: tuple[int, IntType]) -> tuple[int, IntType]:
        kind = promote(inner[1])
        value = {"-": -inner[0], "~": ~inner[0], "+": inner[0]}[op]
        return (value if self.python else kind.wrap(value)), kind

    def _binary(self, op: str, a: tuple[int, IntType], b: tuple[int, IntType]) -> tuple[int, IntType] | None:
        kind = promote(a[1]) if op in ("<<", ">>") else common(a[1], b[1])
        x, y = (a[0], b[0]) if self.python or op in ("<<", ">>") else (kind.wrap(a[0]), kind.wrap(b[0]))
        if op in ("<<", ">>") and (y < 0 or (not self.python and y >= kind.bits)):
            raise Undefined(op)
        value = _apply(op, x, y, self.python)
        return None if value is None else ((value if self.python else kind.wrap(value)), kind)


def _apply(op: str, x: int, y: int, python: bool) -> int | None:
    match op:
        case "+" | "-" | "*" | "&" | "|" | "^" | "<<" | ">>":
            return {
                "+": x + y, "-": x - y, "*": x * y, "&": x & y, "|": x | y, "^": x ^ y,
            }.get(op, x << y if op == "<<" and y < 256 else x >> y)  # fmt: skip
        case "/" | "//" | "%" if y:
            quotient = x // y if python else int(abs(x) // abs(y)) * (1 if (x < 0) == (y < 0) else -1)
            return x - quotient * y if op == "%" else quotient
    return None
