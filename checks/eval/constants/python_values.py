"""Python's operations on values, with bounds on what they may build."""

from __future__ import annotations

import operator
from collections.abc import Callable

from checks.eval.constants.values import MOST_BITS, MOST_ITEMS, UNKNOWN, Unset, known
from checks.lang.ir.expr import Const

_FAILS = (
    ArithmeticError, AttributeError, LookupError, TypeError, ValueError,
)  # fmt: skip
_BINARY: dict[str, Callable[..., object]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "//": operator.floordiv, "%": operator.mod, "**": operator.pow, "<<": operator.lshift,
    ">>": operator.rshift, "&": operator.and_, "|": operator.or_, "^": operator.xor,
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge,
}  # fmt: skip
_UNARY: dict[str, Callable[..., object]] = {
    "-": operator.neg, "+": operator.pos, "~": operator.invert, "not": operator.not_,
}  # fmt: skip
_BUILTINS: dict[str, Callable[..., object]] = {
    "abs": abs, "bool": bool, "divmod": divmod, "float": float, "int": int, "len": len,
    "list": list, "max": max, "min": min, "range": range, "reversed": lambda v: list(reversed(v)),
    "round": round, "sorted": sorted, "sum": sum, "tuple": tuple,
}  # fmt: skip


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
        if operand is UNKNOWN or op not in _UNARY:
            return UNKNOWN
        return _attempt(_UNARY[op], operand)

    def binary(self, op: str, left: object, right: object) -> object:
        if left is UNKNOWN or right is UNKNOWN:
            return UNKNOWN
        if op in ("is", "is-not"):
            return _identity(op, left, right)
        if op in ("in", "not-in"):
            if not (known(left) and known(right)):
                return UNKNOWN
            return _attempt(lambda: (left in right) == (op == "in"))  # type: ignore[operator]
        if op not in _BINARY or _too_large(op, left, right):
            return UNKNOWN
        if op in ("==", "!=", "<", "<=", ">", ">=", "%") and not (known(left) and known(right)):
            return UNKNOWN
        return _attempt(_BINARY[op], left, right)

    def cast(self, declared: str, operand: object) -> object:
        return UNKNOWN

    def call(self, name: str, args: list[object]) -> object:
        function = _BUILTINS.get(name)
        if function is None or any(a is UNKNOWN for a in args):
            return UNKNOWN
        if name not in ("len", "list", "tuple", "reversed") and not all(map(known, args)):
            return UNKNOWN
        if any(isinstance(a, range) and len(a) > MOST_ITEMS for a in args):
            return UNKNOWN
        result = _attempt(function, *args)
        return list(result) if isinstance(result, range) and len(result) <= MOST_ITEMS else result

    def item(self, base: object, index: object) -> object:
        if base is UNKNOWN or not known(index):
            return UNKNOWN
        return _attempt(operator.getitem, base, index)


def _attempt(function: Callable[..., object], *args: object) -> object:
    """The result, or `UNKNOWN` where Python would raise."""
    try:
        return function(*args)
    except _FAILS:
        return UNKNOWN


def _identity(op: str, left: object, right: object) -> object:
    """`is` is only sure for the values of which there is one each."""
    single = (None, True, False)
    if not any(left is one or right is one for one in single):
        return UNKNOWN
    return (left is right) == (op == "is")


def _too_large(op: str, left: object, right: object) -> bool:
    """Whether the result might be larger than is worth building."""
    if isinstance(right, int) and isinstance(left, int):
        if op == "<<":
            return right > MOST_BITS or left.bit_length() > MOST_BITS
        if op == "**":
            return left.bit_length() * abs(right) > MOST_BITS
        return op == "*" and left.bit_length() + right.bit_length() > MOST_BITS
    if op == "*":
        length = next((len(v) for v in (left, right) if isinstance(v, list | tuple | str)), 0)
        times = next((v for v in (left, right) if isinstance(v, int)), 0)
        return length * times > MOST_ITEMS
    if op == "+" and isinstance(left, list | tuple | str) and isinstance(right, list | tuple | str):
        return len(left) + len(right) > MOST_ITEMS
    # `%` on a string may pad it to any width.
    return op == "%" and isinstance(left, str)
