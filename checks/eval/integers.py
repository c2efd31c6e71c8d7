"""C's integers: types, promotion, conversion, and the arithmetic that follows from them.

A value without a type (a name whose declaration is not known) counts as a mathematical integer.
Where C leaves the outcome open (signed overflow, a shift as wide as the type) or it hangs on a type
that is not known, there is none.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class IntType:
    """A two's-complement type of `bits` bits; `bool` has one and is unsigned."""

    bits: int
    signed: bool

    @property
    def lowest(self) -> int:
        return -(1 << self.bits - 1) if self.signed else 0

    @property
    def highest(self) -> int:
        return (1 << self.bits - int(self.signed)) - 1

    def holds(self, value: int) -> bool:
        return self.lowest <= value <= self.highest

    def wrap(self, value: int) -> int:
        """`value` as this type stores it."""
        if self.bits == 1:
            return int(value != 0)
        value &= (1 << self.bits) - 1
        return value - (1 << self.bits) if self.signed and value >> (self.bits - 1) else value


@dataclass(frozen=True, slots=True)
class Typed:
    """A C integer; `type` is None where its declaration is not known."""

    value: int
    type: IntType | None = None


BOOL = IntType(1, False)
INT = IntType(32, True)
LONG = IntType(64, True)
_WORDS = {"char": 8, "short": 16, "int": 32, "long": 64}
_NAMED = {
    "bool": BOOL, "size_t": IntType(64, False), "ssize_t": LONG, "ptrdiff_t": LONG, "intptr_t": LONG,
    "uintptr_t": IntType(64, False), "uint": IntType(32, False), "uchar": IntType(8, False),
    "ushort": IntType(16, False),
}  # fmt: skip
_QUALIFIERS = frozenset(
    {"const", "constexpr", "static", "volatile", "inline", "extern", "register"}
)


def integer_type(text: str) -> IntType | None:
    """The type that `text` names (`const unsigned int`, `std::int64_t`), None for anything else."""
    words = [w for w in text.replace("std::", "").split() if w not in _QUALIFIERS]
    if len(words) == 1:
        word = words[0]
        if word in _NAMED:
            return _NAMED[word]
        for bits in (8, 16, 32, 64):
            if word in (f"int{bits}_t", f"uint{bits}_t", f"int{bits}", f"uint{bits}"):
                return IntType(bits, not word.startswith("u"))
    signs = [w for w in words if w in ("signed", "unsigned")]
    sizes = [w for w in words if w in _WORDS]
    if not words or len(signs) + len(sizes) != len(words) or len(signs) > 1:
        return None
    narrow = [w for w in sizes if w != "int"] or ["int"]
    if any(w != narrow[0] for w in narrow) or sizes.count("int") > 1:
        return None
    return IntType(_WORDS[narrow[0]], "unsigned" not in signs)


def literal(value: int, suffix: str) -> Typed:
    """The literal `value` with C's suffix. One that fits no `int` has a type only where its base
    does not matter: hexadecimal may become unsigned where decimal becomes wider."""
    wide, unsigned = "l" in suffix.lower(), "u" in suffix.lower()
    if "z" in suffix.lower():
        wide = True
    small = IntType(32, not unsigned)
    if not wide and small.holds(value):
        return Typed(value, small)
    large = IntType(64, not unsigned)
    surely = wide or unsigned or value > IntType(32, False).highest
    return Typed(value, large if surely and large.holds(value) else None)


def promote(kind: IntType | None) -> IntType | None:
    """What is narrower than `int` becomes `int`."""
    return INT if kind is not None and kind.bits < INT.bits else kind


def common(left: IntType | None, right: IntType | None) -> IntType | None:
    """The type in which C does arithmetic on both; the wider wins, at equal width the unsigned one."""
    left, right = promote(left), promote(right)
    if left is None or right is None:
        return None
    if left.bits == right.bits:
        return IntType(left.bits, left.signed and right.signed)
    return max(left, right, key=lambda kind: kind.bits)


def _divide(a: int, b: int) -> int:
    """C's division: towards zero."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _remainder(a: int, b: int) -> int:
    return a - b * _divide(a, b)


_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": _divide, "%": _remainder,
    "&": operator.and_, "|": operator.or_, "^": operator.xor,
}  # fmt: skip
COMPARE: dict[str, Callable[[float, float], bool]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge,
}  # fmt: skip
_WIDEST_SHIFT = 63


def binary(op: str, left: Typed, right: Typed) -> Typed | None:
    """`left op right`, or None where C or what is known leaves it open."""
    if op in ("<<", ">>"):
        return _shift(op, left, right)
    kind = common(left.type, right.type)
    a, b = left.value, right.value
    if kind is not None:
        a, b = kind.wrap(a), kind.wrap(b)
    elif _may_wrap(left, right, a) or _may_wrap(left, right, b):
        return None
    if op in COMPARE:
        return Typed(int(COMPARE[op](a, b)), BOOL)
    if op not in _ARITHMETIC or (op in "/%" and b == 0):
        return None
    result = _ARITHMETIC[op](a, b)
    if kind is None:
        return None if _may_wrap(left, right, result) else Typed(result)
    if kind.signed and not kind.holds(result):
        return None
    return Typed(kind.wrap(result), kind)


def _may_wrap(left: Typed, right: Typed, value: int) -> bool:
    """Whether `value` may change because one side is unsigned and the other's type is not known."""
    known = promote(left.type or right.type)
    return known is not None and not known.signed and not known.holds(value)


def _shift(op: str, left: Typed, right: Typed) -> Typed | None:
    kind = promote(left.type)
    widest = _WIDEST_SHIFT if kind is None else kind.bits - 1
    if not 0 <= right.value <= widest:
        return None
    if op == ">>":
        return Typed(left.value >> right.value, kind)
    result = left.value << right.value
    # A shift into the sign bit wraps: C++20 says so, and compilers always did.
    return Typed(result, None) if kind is None else Typed(kind.wrap(result), kind)


def unary(op: str, operand: Typed) -> Typed | None:
    """`op operand` for `- + ~ not`; None for anything else, and where it overflows."""
    kind = promote(operand.type)
    match op:
        case "not":
            return Typed(int(operand.value == 0), BOOL)
        case "+":
            return Typed(operand.value, kind)
        case "-":
            result = -operand.value
        case "~":
            result = ~operand.value
        case _:
            return None
    if kind is None:
        return Typed(result)
    if kind.signed and not kind.holds(result):
        return None
    return Typed(kind.wrap(result), kind)
