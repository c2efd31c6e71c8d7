"""Python's operations on values, with bounds on what they may build."""

from __future__ import annotations

import operator
from collections.abc import Callable

from checks.eval.constants.values import MOST_BITS, MOST_ITEMS, UNKNOWN, Unset, known
from checks.eval.python_operators import BINARY, UNARY
from checks.lang.ir.expr import Const

_FAILURES = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
_BUILTINS: dict[str, Callable[..., object]] = {
    "abs": abs,
    "bool": bool,
    "divmod": divmod,
    "float": float,
    "int": int,
    "len": len,
    "list": list,
    "max": max,
    "min": min,
    "range": range,
    "reversed": lambda values: list(reversed(values)),
    "round": round,
    "sorted": sorted,
    "sum": sum,
    "tuple": tuple,
}
# Operators and builtins that look at the elements, which must be known then.
_COMPARING = frozenset({"==", "!=", "<", "<=", ">", ">=", "%"})
_TAKING_UNKNOWN_ITEMS = frozenset({"len", "list", "tuple", "reversed"})


class PythonRules:
    """Python's semantics. Values are Python's own; a list may hold `UNKNOWN`."""

    def constant(self, const: Const) -> object:
        return const.value

    def given(self, value: object, declared: str) -> object:
        return value

    def plain(self, value: object) -> object:
        return value

    def truth(self, value: object) -> bool | Unset:
        return UNKNOWN if value is UNKNOWN else bool(value)

    def unary(self, op: str, operand: object) -> object:
        if operand is UNKNOWN or op not in UNARY:
            return UNKNOWN
        return _attempt(UNARY[op], operand)

    def binary(self, op: str, left: object, right: object) -> object:
        if left is UNKNOWN or right is UNKNOWN:
            return UNKNOWN
        if op in ("is", "is-not"):
            return _identity(op, left, right)
        if op in ("in", "not-in"):
            return _membership(op, left, right)
        if op not in BINARY or _too_large(op, left, right):
            return UNKNOWN
        if op in _COMPARING and not (known(left) and known(right)):
            return UNKNOWN
        return _attempt(BINARY[op], left, right)

    def cast(self, declared: str, operand: object) -> object:
        return UNKNOWN

    def call(self, name: str, args: list[object]) -> object:
        function = _BUILTINS.get(name)
        if function is None:
            return UNKNOWN
        for arg in args:
            if arg is UNKNOWN or _is_long_range(arg):
                return UNKNOWN
            if not known(arg) and name not in _TAKING_UNKNOWN_ITEMS:
                return UNKNOWN
        result = _attempt(function, *args)
        if isinstance(result, range) and not _is_long_range(result):
            return list(result)
        return result

    def item(self, base: object, index: object) -> object:
        if base is UNKNOWN or not known(index):
            return UNKNOWN
        return _attempt(operator.getitem, base, index)


def _attempt(function: Callable[..., object], *args: object) -> object:
    """The result, or `UNKNOWN` where Python would raise."""
    try:
        return function(*args)
    except _FAILURES:
        return UNKNOWN


def _is_long_range(value: object) -> bool:
    return isinstance(value, range) and len(value) > MOST_ITEMS


def _identity(op: str, left: object, right: object) -> object:
    """`is` is only sure for the values of which there is one each."""
    if not _is_single(left) and not _is_single(right):
        return UNKNOWN
    return (left is right) == (op == "is")


def _is_single(value: object) -> bool:
    return value is None or isinstance(value, bool)


def _membership(op: str, member: object, container: object) -> object:
    if not known(member) or not known(container):
        return UNKNOWN
    found = _attempt(operator.contains, container, member)
    return UNKNOWN if found is UNKNOWN else found == (op == "in")


def _too_large(op: str, left: object, right: object) -> bool:
    """Whether the result might be larger than is worth building."""
    if isinstance(left, int) and isinstance(right, int):
        return _too_many_bits(op, left, right)
    match op:
        case "*":
            return _repeated_length(left, right) > MOST_ITEMS
        case "+":
            return _length(left) + _length(right) > MOST_ITEMS
        case "%":
            # A format string may ask for any width.
            return isinstance(left, str)
        case _:
            return False


def _too_many_bits(op: str, left: int, right: int) -> bool:
    match op:
        case "<<":
            return right > MOST_BITS or left.bit_length() > MOST_BITS
        case "**":
            return left.bit_length() * abs(right) > MOST_BITS
        case "*":
            return left.bit_length() + right.bit_length() > MOST_BITS
        case _:
            return False


def _length(value: object) -> int:
    return len(value) if isinstance(value, list | tuple | str) else 0


def _repeated_length(left: object, right: object) -> int:
    """The length of `left * right`, where one is a sequence and the other a number; else 0."""
    if isinstance(right, int):
        return _length(left) * right
    if isinstance(left, int):
        return _length(right) * left
    return 0
