"""Functions of numpy, paddle and torch that make arrays."""

from __future__ import annotations

from checks.eval.interpreter import array_shapes, arrays
from checks.eval.interpreter.values import (
    LARGEST,
    UNKNOWN_VALUE,
    Array,
    Native,
    PyList,
    Value,
    join_origins,
    unknown,
)

ARRAY_LIBRARIES = frozenset({"numpy", "paddle", "torch"})
_FILLED = frozenset({"zeros", "ones", "empty", "full"})
_FILLED_LIKE = frozenset({"zeros_like", "ones_like", "empty_like", "full_like"})
_FROM_DATA = frozenset({"to_tensor", "tensor", "array", "asarray", "from_numpy", "as_tensor"})


def call_array_function(name: str, args: list[Value], words: dict[str, Value]) -> Value:
    """`numpy.name(*args, **words)`, or the same of another array library."""
    if name in _FILLED:
        return _make_filled(name, args, words)
    if name in _FILLED_LIKE and args and isinstance(args[0].value, Array):
        return _make_filled_like(name, args[0].value, args)
    if name in _FROM_DATA:
        return array_shapes.from_list(args[0]) if args else UNKNOWN_VALUE
    if name == "arange":
        return _make_arange(args)
    if name == "reshape" and len(args) == 2 and isinstance(args[0].value, Array):
        dims = array_shapes.dims_from_args([args[1]])
        if dims is not None:
            return array_shapes.reshape(args[0].value, dims)
    return unknown(*args)


def _make_filled(name: str, args: list[Value], words: dict[str, Value]) -> Value:
    fill, positional = _split_fill(name, args, words)
    sizes = _given_sizes(positional, words)
    # A shape in one list may be followed by a dtype.
    if sizes and isinstance(sizes[0].value, PyList):
        sizes = sizes[:1]
    dims = array_shapes.dims_from_args(sizes)
    if dims is None or not sizes:
        return unknown(*positional)
    return Value(Array.full(tuple(dims), arrays.scalar(fill)))


def _split_fill(name: str, args: list[Value], words: dict[str, Value]) -> tuple[Value, list[Value]]:
    """What every element is, and the positional arguments without it."""
    if name != "full":
        return _fill_of(name), args
    if "fill_value" in words:
        return words["fill_value"], args
    if not args:
        return UNKNOWN_VALUE, args
    if len(args) == 1:
        return args[0], args
    return args[-1], args[:-1]


def _fill_of(name: str) -> Value:
    """What `zeros` or `ones_like` fills an array with; unknown for the others."""
    if name.startswith("zeros"):
        return Value(0)
    if name.startswith("ones"):
        return Value(1)
    return UNKNOWN_VALUE


def _given_sizes(positional: list[Value], words: dict[str, Value]) -> list[Value]:
    keyword = words.get("shape", words.get("size"))
    if keyword is not None:
        return [keyword]
    # Strings and foreign names are dtypes and devices.
    return [arg for arg in positional if not isinstance(arg.value, str | Native)]


def _make_filled_like(name: str, array: Array, args: list[Value]) -> Value:
    fill = _fill_of(name)
    if name == "full_like" and len(args) > 1:
        fill = args[1]
    return Value(Array.full(array.shape, fill))


def _make_arange(args: list[Value]) -> Value:
    numbers = [arrays.scalar(arg) for arg in args if not isinstance(arg.value, Native)]
    if not numbers or not all(arrays.is_integer(number) for number in numbers):
        return unknown(*args)
    positions = range(*[number.value for number in numbers[:3]])
    if len(positions) > LARGEST:
        return unknown(*args)
    items = PyList([Value(n) for n in positions], join_origins(numbers))
    return array_shapes.from_list(Value(items))
