"""The shapes of arrays: reshaping, conversion from and to lists, and operations on two arrays."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from checks.eval.interpreter.arrays import is_integer, scalar
from checks.eval.interpreter.values import (
    LARGEST,
    UNKNOWN,
    UNKNOWN_VALUE,
    Array,
    PyList,
    SimulatedException,
    Value,
    join_origins,
    row_major_strides,
    unknown,
)


def reshape(array: Array, dims: list[Value]) -> Value:
    """The same elements in another shape. Raises a ValueError where the sizes cannot agree."""
    dims = [scalar(size) for size in dims]
    if not all(isinstance(size.value, int) for size in dims):
        return unknown(*dims)
    sizes = _solve_free_dimension([int(size.value) for size in dims], array.size)
    if prod(sizes) != array.size or -1 in sizes:
        detail = f"cannot reshape size {array.size} into {tuple(sizes)}"
        raise SimulatedException("ValueError", detail, join_origins([*dims, *array.shape]))
    shape = tuple(Value(n, size.origins) for n, size in zip(sizes, dims, strict=True))
    if array.strides == row_major_strides(array.dims):
        strides = row_major_strides(tuple(sizes))
        return Value(Array(shape, array.buffer, strides, array.offset))
    # Of a transposed or strided view numpy makes a copy.
    copy = Array.full(shape, array.buffer.fill)
    if array.size > LARGEST:
        copy.forget()
        return Value(copy)
    for position, place in enumerate(array.places()):
        copy.buffer.cells[position] = array.get(place)
    return Value(copy)


def _solve_free_dimension(sizes: list[int], total: int) -> list[int]:
    """`sizes` with a single -1 replaced by what is left of `total` elements."""
    others = prod(size for size in sizes if size != -1)
    if sizes.count(-1) != 1 or others == 0 or total % others != 0:
        return sizes
    return [total // others if size == -1 else size for size in sizes]


def to_list(array: Array) -> Value:
    """`tolist()`: nested lists, each with the lines that decided its length."""
    if not array.shape:
        return array.get(())
    if array.size > LARGEST or array.dims[0] > LARGEST:
        return UNKNOWN_VALUE
    return _nested_list(array, ())


def _nested_list(array: Array, place: tuple[int, ...]) -> Value:
    depth = len(place)
    if depth == len(array.shape):
        return array.get(place)
    size = array.shape[depth]
    items = [_nested_list(array, (*place, n)) for n in range(size.value)]
    return Value(PyList(items, size.origins))


def from_list(value: Value) -> Value:
    """An array of a nested list of known shape, of a scalar, or a copy of another array."""
    shape = _shape_of_nested(value)
    if shape is None:
        return unknown(value)
    array = Array.full(tuple(shape), UNKNOWN_VALUE)
    for place in array.places():
        array.put(place, _element_of_nested(value, place))
    return Value(array, value.origins)


def _shape_of_nested(value: Value) -> list[Value] | None:
    """The dimensions of a nested list; None where they are unknown or differ between items."""
    content = value.value
    if content is UNKNOWN:
        return None
    if isinstance(content, Array):
        return list(content.shape) if content.size <= LARGEST else None
    if not isinstance(content, PyList):
        return []
    if content.items is None:
        return None
    if not content.items:
        return [Value(0, content.length)]
    shapes = [_shape_of_nested(item) for item in content.items]
    first = shapes[0]
    if first is None:
        return None
    for shape in shapes:
        if shape is None or not _same_sizes(shape, first):
            return None
    return [Value(len(shapes), content.length), *first]


def _same_sizes(left: list[Value], right: list[Value]) -> bool:
    return [size.value for size in left] == [size.value for size in right]


def _element_of_nested(value: Value, place: tuple[int, ...]) -> Value:
    for depth, position in enumerate(place):
        if isinstance(value.value, Array):
            return value.value.get(place[depth:])
        value = value.value.items[position]
    return value


def dims_from_args(args: list[Value]) -> list[Value] | None:
    """The dimensions meant by `f(2, 3)`, `f([2, 3])` or `f((2, 3))`; None where not known."""
    if len(args) == 1 and isinstance(args[0].value, PyList):
        items = args[0].value.items
        if items is None:
            return None
        args = items
    dims = [scalar(arg) for arg in args]
    for size in dims:
        if not is_integer(size) or size.value < -1:
            return None
    return dims


def elementwise(left: Value, right: Value, op: Callable[[Value, Value], Value]) -> Value:
    """`op` element by element, where shapes agree or one side is a scalar."""
    arrays = [v.value for v in (left, right) if isinstance(v.value, Array)]
    if len(arrays) == 2 and arrays[0].dims != arrays[1].dims:
        return unknown(left, right)
    first = arrays[0]
    result = Array.full(first.shape, UNKNOWN_VALUE)
    if first.size > LARGEST:
        return Value(result, left.origins)
    for place in first.places():
        result.put(place, op(_element_at(left, place), _element_at(right, place)))
    return Value(result, left.origins | right.origins)


def _element_at(value: Value, place: tuple[int, ...]) -> Value:
    if isinstance(value.value, Array):
        return value.value.get(place)
    return value
