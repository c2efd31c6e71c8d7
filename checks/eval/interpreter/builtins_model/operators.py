"""Binary operators, without the short-circuit ones."""

from __future__ import annotations

from checks.eval.interpreter import array_shapes, arrays
from checks.eval.interpreter.values import (
    LARGEST,
    SCALARS,
    UNKNOWN,
    Array,
    Native,
    Origins,
    PyDict,
    PyList,
    SimulatedException,
    Value,
    join_origins,
    unknown,
)
from checks.eval.python_operators import BINARY

# Larger exponents and shifts would build numbers of thousands of bits.
_LARGEST_EXPONENT = 512


def binary(op: str, left: Value, right: Value) -> Value:
    """`left op right`. Raises `SimulatedException` (a ZeroDivisionError) where that is certain."""
    left = arrays.scalar(left)
    right = arrays.scalar(right)
    if op in ("is", "is-not"):
        return _identity(op, left, right)
    if op in ("in", "not-in"):
        return _membership(op, left, right)
    if not left.known or not right.known:
        return unknown(left, right)
    if isinstance(left.value, Array) or isinstance(right.value, Array):
        return _array_operation(op, left, right)
    if isinstance(left.value, PyList) or isinstance(right.value, PyList):
        return _list_operation(op, left, right)
    return _scalar_operation(op, left, right)


def _scalar_operation(op: str, left: Value, right: Value) -> Value:
    if not isinstance(left.value, SCALARS) or not isinstance(right.value, SCALARS):
        return unknown(left, right)
    if op not in BINARY:
        return unknown(left, right)
    if op in ("**", "<<") and isinstance(right.value, int) and right.value > _LARGEST_EXPONENT:
        return unknown(left, right)
    origins = left.origins | right.origins
    try:
        return Value(BINARY[op](left.value, right.value), origins)
    except ZeroDivisionError as error:
        raise SimulatedException("ZeroDivisionError", "division by zero", origins) from error
    except (TypeError, ValueError, ArithmeticError):
        return Value(UNKNOWN, origins)


def _array_operation(op: str, left: Value, right: Value) -> Value:
    operands = (*SCALARS, Array)
    if not isinstance(left.value, operands) or not isinstance(right.value, operands):
        return unknown(left, right)
    return array_shapes.elementwise(left, right, lambda x, y: binary(op, x, y))


def _identity(op: str, left: Value, right: Value) -> Value:
    """`is`, which is only sure for the values of which there is one each."""
    if not left.known or not right.known:
        return unknown(left, right)
    if not _is_single(left) and not _is_single(right):
        return unknown(left, right)
    # A foreign name may stand for None or a bool.
    if isinstance(left.value, Native) or isinstance(right.value, Native):
        return unknown(left, right)
    same = left.value is right.value
    return Value(same == (op == "is"), left.origins | right.origins)


def _is_single(value: Value) -> bool:
    return value.value is None or isinstance(value.value, bool)


def _membership(op: str, member: Value, container: Value) -> Value:
    match container.value:
        case PyList(items=list() as items) if member.known and _all_scalars([member, *items]):
            found = member.value in [item.value for item in items]
        case PyDict(items=items, open=False) if isinstance(member.value, SCALARS):
            found = member.value in items
        case _:
            return unknown(member, container)
    return Value(found == (op == "in"), member.origins)


def _list_operation(op: str, left: Value, right: Value) -> Value:
    match op, left.value, right.value:
        case "+", PyList(items=list() as first, kind=kind), PyList(items=list() as second):
            length = left.value.length | right.value.length
            return Value(PyList([*first, *second], length, kind))
        case "*", PyList(items=list() as items), int() as times:
            return _repeat(left, items, right, times)
        case "*", int(), PyList():
            return _list_operation(op, right, left)
        case "==" | "!=", PyList(items=list() as first), PyList(items=list() as second):
            return _compare_lists(op, first, second, left, right)
        case _:
            return unknown(left, right)


def _repeat(owner: Value, items: list[Value], factor: Value, times: int) -> Value:
    if len(items) * max(times, 0) > LARGEST:
        return unknown(owner, factor)
    length: Origins = owner.value.length | factor.origins
    return Value(PyList(items * times, length, owner.value.kind))


def _compare_lists(
    op: str, first: list[Value], second: list[Value], left: Value, right: Value
) -> Value:
    items = [*first, *second]
    if not _all_scalars(items):
        return unknown(left, right)
    if left.value.kind != right.value.kind:
        equal = False
    elif left.value.kind == "set":
        equal = {item.value for item in first} == {item.value for item in second}
    else:
        equal = [item.value for item in first] == [item.value for item in second]
    return Value(equal == (op == "=="), join_origins(items))


def _all_scalars(values: list[Value]) -> bool:
    return all(isinstance(value.value, SCALARS) for value in values)
