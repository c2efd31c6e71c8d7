"""C's integers: types, promotion, conversion, and the arithmetic that follows from them.

A value without a type (a name whose declaration is not known) counts as a mathematical integer.
Where C leaves the outcome open (signed overflow, a shift as wide as the type) or it hangs on a type
that is not known, there is none.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CIntType:
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
        is_negative = self.signed and value >> (self.bits - 1)
        return value - (1 << self.bits) if is_negative else value


@dataclass(frozen=True, slots=True)
class Typed:
    """A C integer; `type` is None where its declaration is not known."""

    value: int
    type: CIntType | None = None


def store_as(kind: CIntType | None, value: int) -> Typed:
    """`value` as a variable of the type `kind` holds it."""
    if kind is None:
        return Typed(value)
    return Typed(kind.wrap(value), kind)


BOOL = CIntType(1, False)
INT = CIntType(32, True)
LONG = CIntType(64, True)
_SIZES = {"char": 8, "short": 16, "int": 32, "long": 64}
_SINGLE_WORD_TYPES = {
    "bool": BOOL,
    "size_t": CIntType(64, False),
    "ssize_t": LONG,
    "ptrdiff_t": LONG,
    "intptr_t": LONG,
    "uintptr_t": CIntType(64, False),
    "uint": CIntType(32, False),
    "uchar": CIntType(8, False),
    "ushort": CIntType(16, False),
}
_FIXED_WIDTH = re.compile(r"(u?)int(8|16|32|64)(?:_t)?")
_QUALIFIERS = frozenset(
    {"const", "constexpr", "static", "volatile", "inline", "extern", "register"}
)


def integer_type(text: str) -> CIntType | None:
    """The type that `text` names (`const unsigned int`, `std::int64_t`), None for anything else."""
    words = [word for word in text.replace("std::", "").split() if word not in _QUALIFIERS]
    if len(words) != 1:
        return _multi_word_type(words)
    word = words[0]
    if word in _SINGLE_WORD_TYPES:
        return _SINGLE_WORD_TYPES[word]
    fixed_width = _FIXED_WIDTH.fullmatch(word)
    if fixed_width is not None:
        return CIntType(int(fixed_width[2]), signed=not fixed_width[1])
    return _multi_word_type(words)


def _multi_word_type(words: list[str]) -> CIntType | None:
    """The type of `unsigned`, `long long int`, `short` and the like."""
    signs: list[str] = []
    sizes: list[str] = []
    for word in words:
        if word in ("signed", "unsigned"):
            signs.append(word)
        elif word in _SIZES:
            sizes.append(word)
        else:
            return None
    if not words or len(signs) > 1 or sizes.count("int") > 1:
        return None
    # `int` may stand beside another size, which decides then; `long` may stand twice.
    deciding = set(sizes) - {"int"}
    if not deciding:
        deciding = {"int"}
    if len(deciding) > 1:
        return None
    return CIntType(_SIZES[deciding.pop()], "unsigned" not in signs)


def literal(value: int, suffix: str) -> Typed:
    """The literal `value` with C's suffix.

    One that fits no `int` has a type only where its base does not matter: hexadecimal may become
    unsigned where decimal becomes wider.
    """
    letters = suffix.lower()
    is_wide = "l" in letters or "z" in letters
    is_unsigned = "u" in letters
    small = CIntType(32, not is_unsigned)
    if not is_wide and small.holds(value):
        return Typed(value, small)
    large = CIntType(64, not is_unsigned)
    base_matters = value <= CIntType(32, False).highest and not is_wide and not is_unsigned
    if base_matters or not large.holds(value):
        return Typed(value)
    return Typed(value, large)


def promote(kind: CIntType | None) -> CIntType | None:
    """What is narrower than `int` becomes `int`."""
    return INT if kind is not None and kind.bits < INT.bits else kind


def common(left: CIntType | None, right: CIntType | None) -> CIntType | None:
    """The type in which C does arithmetic on both.

    The wider one wins, at equal width the unsigned one.
    """
    left, right = promote(left), promote(right)
    if left is None or right is None:
        return None
    if left.bits == right.bits:
        return CIntType(left.bits, left.signed and right.signed)
    return max(left, right, key=lambda kind: kind.bits)


def _divide(a: int, b: int) -> int:
    """C's division: towards zero."""
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _remainder(a: int, b: int) -> int:
    return a - b * _divide(a, b)


_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _divide,
    "%": _remainder,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
}
COMPARE: dict[str, Callable[[float, float], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_WIDEST_SHIFT = 63


def binary(op: str, left: Typed, right: Typed) -> Typed | None:
    """`left op right`, or None where C or what is known leaves it open."""
    if op in ("<<", ">>"):
        return _shift(op, left, right)
    kind = common(left.type, right.type)
    if kind is None:
        return _binary_of_unknown_type(op, left, right)
    a = kind.wrap(left.value)
    b = kind.wrap(right.value)
    if op in COMPARE:
        return _compare(op, a, b)
    result = _operate(op, a, b)
    return None if result is None else _in_type(result, kind)


def _binary_of_unknown_type(op: str, left: Typed, right: Typed) -> Typed | None:
    """`left op right`, where the type of one side is not known."""
    if _may_wrap(left, right, left.value) or _may_wrap(left, right, right.value):
        return None
    if op in COMPARE:
        return _compare(op, left.value, right.value)
    result = _operate(op, left.value, right.value)
    if result is None or _may_wrap(left, right, result):
        return None
    return Typed(result)


def _operate(op: str, a: int, b: int) -> int | None:
    """The mathematical result; None for another operator, and for a division by zero."""
    if op not in _ARITHMETIC or (op in "/%" and b == 0):
        return None
    return _ARITHMETIC[op](a, b)


def _compare(op: str, a: int, b: int) -> Typed:
    return Typed(int(COMPARE[op](a, b)), BOOL)


def _in_type(value: int, kind: CIntType) -> Typed | None:
    """`value` as a result of type `kind`: unsigned wraps, signed overflow is left open by C."""
    if kind.signed and not kind.holds(value):
        return None
    return Typed(kind.wrap(value), kind)


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
    return store_as(kind, result)


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
    return Typed(result) if kind is None else _in_type(result, kind)
