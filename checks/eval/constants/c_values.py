"""C's and C++'s operations on values: integers of their types, floats, strings, arrays."""

from __future__ import annotations

import math

from checks.eval import integers
from checks.eval.constants.values import UNKNOWN, Unset
from checks.eval.integers import BOOL, CIntType, Typed, common, integer_type, store_as
from checks.lang.ir.expr import Const

_FLOAT_TYPES = frozenset({"float", "const float"})
# Whole numbers below these are exact in the two floating-point types.
_EXACT_IN_FLOAT = 1 << 24
_EXACT_IN_DOUBLE = 1 << 53


class CRules:
    """C's semantics. An integer is a `Typed`, an array a list.

    `aliases` maps a type's name to what it stands for.
    """

    def __init__(self, aliases: dict[str, str] | None = None) -> None:
        self._aliases = aliases or {}

    def constant(self, const: Const) -> object:
        value = const.value
        if isinstance(value, int) and not isinstance(value, bool):
            return integers.literal(value, const.suffix)
        return self.given(value, "")

    def given(self, value: object, declared: str) -> object:
        kind = integer_type(self._aliases.get(declared, declared))
        if isinstance(value, bool):
            return Typed(int(value), kind or BOOL)
        if isinstance(value, int):
            return store_as(kind, value)
        return value

    def plain(self, value: object) -> object:
        if isinstance(value, Typed):
            if value.type == BOOL:
                return bool(value.value)
            return value.value
        if isinstance(value, list):
            return [self.plain(item) for item in value]
        return value

    def truth(self, value: object) -> bool | Unset:
        value = self.given(value, "")
        if isinstance(value, Typed):
            return value.value != 0
        if value is None or isinstance(value, float):
            return bool(value)
        return UNKNOWN

    def unary(self, op: str, operand: object) -> object:
        operand = self.given(operand, "")
        if isinstance(operand, Typed):
            result = integers.unary(op, operand)
            return UNKNOWN if result is None else result
        if isinstance(operand, float) and op == "-":
            return -operand
        if isinstance(operand, float) and op == "+":
            return operand
        truth = self.truth(operand)
        if op != "not" or truth is UNKNOWN:
            return UNKNOWN
        return Typed(int(not truth), BOOL)

    def binary(self, op: str, left: object, right: object) -> object:
        left, right = self.given(left, ""), self.given(right, "")
        if isinstance(left, Typed) and isinstance(right, Typed):
            result = integers.binary(op, left, right)
            return UNKNOWN if result is None else result
        left_float = _as_float(left)
        right_float = _as_float(right)
        if left_float is None or right_float is None:
            return UNKNOWN
        return _floating_operation(op, left_float, right_float)

    def cast(self, declared: str, operand: object) -> object:
        declared = self._aliases.get(declared, declared)
        operand = self.given(operand, "")
        kind = integer_type(declared)
        if kind is not None and isinstance(operand, Typed):
            return store_as(kind, operand.value)
        number = _as_float(operand)
        if number is None:
            return UNKNOWN
        if kind is not None:
            return _truncate(number, kind)
        if declared.endswith("double"):
            return number
        if declared in _FLOAT_TYPES and _is_exact_in_single_precision(number):
            return number
        return UNKNOWN

    def call(self, name: str, args: list[object]) -> object:
        values = [self.given(arg, "") for arg in args]
        if name == "abs" and len(values) == 1:
            return self._absolute(values[0])
        if name in ("min", "max") and len(values) == 2:
            return self._choose(name, values[0], values[1])
        return UNKNOWN

    def _absolute(self, value: object) -> object:
        negative = self.truth(self.binary("<", value, Typed(0, integers.INT)))
        if negative is UNKNOWN:
            return UNKNOWN
        return self.unary("-", value) if negative else value

    def _choose(self, name: str, first: object, second: object) -> object:
        """`min` or `max`. CUDA's convert to the common type; `std::min` wants one type anyway."""
        first_is_less = self.truth(self.binary("<", first, second))
        if first_is_less is UNKNOWN:
            return UNKNOWN
        takes_first = first_is_less == (name == "min")
        if isinstance(first, Typed) and isinstance(second, Typed):
            chosen_integer = first if takes_first else second
            return _to_common_type(chosen_integer, first, second)
        return first if takes_first else second

    def item(self, base: object, index: object) -> object:
        index = self.given(index, "")
        if not isinstance(base, list) or not isinstance(index, Typed):
            return UNKNOWN
        if not 0 <= index.value < len(base):
            return UNKNOWN
        return base[index.value]


def _to_common_type(chosen: Typed, first: Typed, second: Typed) -> Typed:
    """`chosen`, which is one of the other two, in the type of arithmetic on both."""
    kind = first.type
    if first.type != second.type:
        kind = common(first.type, second.type)
    return store_as(kind, chosen.value)


def _as_float(value: object) -> float | None:
    """`value` as a `double` that holds it exactly; None where it is no number, or too large."""
    if isinstance(value, Typed):
        return float(value.value) if abs(value.value) < _EXACT_IN_DOUBLE else None
    return value if isinstance(value, float) else None


def _truncate(number: float, kind: CIntType) -> object:
    """A floating-point number cast to an integer type; unknown where it does not fit."""
    if kind == BOOL:
        return Typed(int(number != 0), BOOL)
    if not math.isfinite(number) or not kind.holds(int(number)):
        return UNKNOWN
    return Typed(int(number), kind)


def _is_exact_in_single_precision(number: float) -> bool:
    """Whether `float` holds the same number as `double`: surely for small whole numbers."""
    return abs(number) < _EXACT_IN_FLOAT and number == int(number)


def _floating_operation(op: str, left: float, right: float) -> object:
    compare = integers.COMPARE.get(op)
    if compare is not None:
        return Typed(int(compare(left, right)), BOOL)
    try:
        match op:
            case "+":
                return left + right
            case "-":
                return left - right
            case "*":
                return left * right
            case "/":
                return left / right
            case _:
                return UNKNOWN
    except (OverflowError, ValueError, ZeroDivisionError):
        return UNKNOWN
