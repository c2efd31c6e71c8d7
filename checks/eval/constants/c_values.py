"""C's and C++'s operations on values: integers of their types, floating-point numbers, strings, arrays."""

from __future__ import annotations

import math

from checks.eval import integers
from checks.eval.constants.values import UNKNOWN, Unset
from checks.eval.integers import BOOL, Typed, common, integer_type
from checks.lang.ir.expr import Const

_FLOATS = frozenset({"float", "double", "const float", "const double"})
_INFINITE = (OverflowError, ValueError, ZeroDivisionError)


class CRules:
    """C's semantics. An integer is a `Typed`, an array a list; `aliases` maps a type's name to what it stands for."""

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
            return Typed(value if kind is None else kind.wrap(value), kind)
        return value

    def plain(self, value: object) -> object:
        if isinstance(value, Typed):
            return bool(value.value) if value.type == BOOL else value.value
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
        if isinstance(operand, float) and op in "+-":
            return -operand if op == "-" else operand
        truth = self.truth(operand)
        return UNKNOWN if op != "not" or truth is UNKNOWN else Typed(int(not truth), BOOL)

    def binary(self, op: str, left: object, right: object) -> object:
        left, right = self.given(left, ""), self.given(right, "")
        if isinstance(left, Typed) and isinstance(right, Typed):
            result = integers.binary(op, left, right)
            return UNKNOWN if result is None else result
        a, b = _number(left), _number(right)
        return UNKNOWN if a is None or b is None else _floating(op, a, b)

    def cast(self, declared: str, operand: object) -> object:
        declared = self._aliases.get(declared, declared)
        operand = self.given(operand, "")
        kind, number = integer_type(declared), _number(operand)
        if kind is not None and isinstance(operand, Typed):
            return Typed(kind.wrap(operand.value), kind)
        if number is None:
            return UNKNOWN
        if kind is not None:
            whole = kind.wrap(int(number != 0)) if kind == BOOL else _whole(number)
            return UNKNOWN if whole is None or not kind.holds(whole) else Typed(whole, kind)
        # Only where single precision holds the number exactly is `float` the same as `double`.
        exact = declared in _FLOATS and (abs(number) < 1 << 24 and number == int(number))
        return number if exact or declared.endswith("double") else UNKNOWN

    def call(self, name: str, args: list[object]) -> object:
        values = [self.given(a, "") for a in args]
        if name == "abs" and len(values) == 1:
            negative = self.truth(self.binary("<", values[0], Typed(0, integers.INT)))
            if negative is UNKNOWN:
                return UNKNOWN
            return self.unary("-", values[0]) if negative else values[0]
        if name not in ("min", "max") or len(values) != 2:
            return UNKNOWN
        less = self.truth(self.binary("<", values[0], values[1]))
        if less is UNKNOWN:
            return UNKNOWN
        chosen = values[0] if less == (name == "min") else values[1]
        return self._as_common(chosen, values)

    def _as_common(self, chosen: object, values: list[object]) -> object:
        """CUDA's `min` converts to the common type; `std::min` wants one type to begin with."""
        first, second = values
        if isinstance(chosen, Typed) and isinstance(first, Typed) and isinstance(second, Typed):
            kind = first.type if first.type == second.type else common(first.type, second.type)
            return Typed(chosen.value if kind is None else kind.wrap(chosen.value), kind)
        return chosen

    def item(self, base: object, index: object) -> object:
        index = self.given(index, "")
        if not isinstance(base, list) or not isinstance(index, Typed):
            return UNKNOWN
        return base[index.value] if 0 <= index.value < len(base) else UNKNOWN


def _number(value: object) -> float | None:
    if isinstance(value, Typed):
        return float(value.value) if abs(value.value) < 1 << 53 else None
    return value if isinstance(value, float) else None


def _whole(number: float) -> int | None:
    return int(number) if math.isfinite(number) else None


def _floating(op: str, a: float, b: float) -> object:
    compare = integers.COMPARE.get(op)
    if compare is not None:
        return Typed(int(compare(a, b)), BOOL)
    try:
        match op:
            case "+":
                return a + b
            case "-":
                return a - b
            case "*":
                return a * b
            case "/":
                return a / b
    except _INFINITE:
        return UNKNOWN
    return UNKNOWN
