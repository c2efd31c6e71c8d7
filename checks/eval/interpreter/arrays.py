"""Arrays: indexing, slicing, reshaping and copying, on shapes and on the elements that are
known."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from types import EllipsisType

from checks.eval.interpreter.values import (
    LARGEST,
    NO_ORIGINS,
    UNKNOWN,
    UNKNOWN_VALUE,
    Array,
    Origins,
    PyList,
    Raised,
    Value,
    join_origins,
    row_major_strides,
    unknown,
)

# What may stand between the brackets of an array: a number, a slice (of values), or `...`.
ArrayIndex = Value | slice | EllipsisType


def scalar(value: Value) -> Value:
    """The one element of a size-1 array, or `value` itself."""
    array = value.value
    if isinstance(array, Array) and array.size == 1:
        return array.get_flat(array.offset).with_origins(value.origins)
    return value


def is_integer(value: Value) -> bool:
    """Whether `value` is a known int, and not a bool."""
    return isinstance(value.value, int) and not isinstance(value.value, bool)


def view(array: Array, indices: list[ArrayIndex]) -> Value:
    """`array[indices]`: a view, or the element for a full index.

    Raises `Raised` (an IndexError) where that is certain.
    """
    offset = array.offset
    shape: list[Value] = []
    strides: list[int] = []
    index_origins: Origins = NO_ORIGINS
    indices = _expand_ellipsis(indices, len(array.shape))
    if len(indices) > len(array.shape):
        raise Raised("IndexError", "too many indices", NO_ORIGINS)
    missing = len(array.shape) - len(indices)
    padded: list[ArrayIndex] = [*indices, *[slice(None)] * missing]
    for index, size, stride in zip(padded, array.shape, array.strides, strict=True):
        if isinstance(index, EllipsisType):
            index = slice(None)
        if isinstance(index, slice):
            part = _cut(index, size)
            if part is None:
                return unknown(size)
            positions, origins = part
            offset += positions.start * stride
            shape.append(Value(len(positions), size.origins | origins))
            strides.append(stride * positions.step)
            continue
        index = scalar(index)
        if not is_integer(index):
            return unknown(index)
        offset += _position(index, size) * stride
        index_origins |= index.origins
    if not shape:
        return array.get_flat(offset).with_origins(index_origins)
    return Value(Array(tuple(shape), array.buffer, tuple(strides), offset), index_origins)


def _position(index: Value, size: Value) -> int:
    """`index` counted from the start; a negative one counts from the end."""
    position: int = index.value
    if position < 0:
        position += size.value
    if not 0 <= position < size.value:
        detail = f"index {index.value} is out of bounds for size {size.value}"
        raise Raised("IndexError", detail, index.origins | size.origins)
    return position


def _expand_ellipsis(indices: list[ArrayIndex], depth: int) -> list[ArrayIndex]:
    """`...` as the full slices it stands for, in an array of `depth` dimensions."""
    for position, index in enumerate(indices):
        if isinstance(index, EllipsisType):
            missing = depth - len(indices) + 1
            return [*indices[:position], *[slice(None)] * missing, *indices[position + 1 :]]
    return indices


def _cut(index: slice, size: Value) -> tuple[range, Origins] | None:
    """The positions that a slice takes of a dimension; None where its ends are not known."""
    ends = [_slice_end(end) for end in (index.start, index.stop, index.step)]
    for end in ends:
        if end.value is not None and not is_integer(end):
            return None
    start, stop, step = [end.value for end in ends]
    if step == 0:
        return None
    positions = range(*slice(start, stop, step).indices(size.value))
    return positions, join_origins(ends)


def _slice_end(end: Value | int | None) -> Value:
    return scalar(end) if isinstance(end, Value) else Value(end)


def assign(array: Array, indices: list[ArrayIndex], value: Value) -> None:
    """`array[indices] = value`; where that is not clear, elements become unknown."""
    indices = _expand_ellipsis(indices, len(array.shape))
    target = view(array, indices)
    if isinstance(target.value, Array):
        fill(target.value, value)
        return
    place = _full_index(array, indices)
    if place is None:
        array.forget()
        return
    element = scalar(value)
    array.put(place, UNKNOWN_VALUE if isinstance(element.value, Array) else element)


def _full_index(array: Array, indices: list[ArrayIndex]) -> tuple[int, ...] | None:
    """The place that `indices` names with one number a dimension; None where they do not."""
    numbers = [scalar(index) for index in indices if isinstance(index, Value)]
    if len(numbers) != len(array.shape):
        return None
    place: list[int] = []
    for number, size in zip(numbers, array.dims, strict=True):
        if not isinstance(number.value, int):
            return None
        place.append(int(number.value) % max(size, 1))
    return tuple(place)


def fill(target: Array, value: Value) -> None:
    """Write `value` into every element of `target`: a scalar, or an array of the same size."""
    if target.size > LARGEST:
        target.forget()
        return
    source = scalar(value)
    if isinstance(source.value, Array) and source.value.size == target.size:
        elements = [source.value.get(place) for place in source.value.places()]
    elif isinstance(source.value, Array | PyList):
        elements = [UNKNOWN_VALUE] * target.size
    else:
        elements = [source] * target.size
    for place, element in zip(target.places(), elements, strict=False):
        target.put(place, element.with_origins(value.origins))


def reshape(array: Array, dims: list[Value]) -> Value:
    """The same elements in another shape. Raises a ValueError where the sizes cannot agree."""
    dims = [scalar(size) for size in dims]
    if not all(isinstance(size.value, int) for size in dims):
        return unknown(*dims)
    sizes = _solve_free_dimension([int(size.value) for size in dims], array.size)
    if prod(sizes) != array.size or -1 in sizes:
        detail = f"cannot reshape size {array.size} into {tuple(sizes)}"
        raise Raised("ValueError", detail, join_origins([*dims, *array.shape]))
    shape = tuple(Value(n, size.origins) for n, size in zip(sizes, dims, strict=True))
    if array.strides == row_major_strides(array.dims):
        strides = row_major_strides(tuple(sizes))
        return Value(Array(shape, array.buffer, strides, array.offset))
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
    """An array of a nested list of known shape, of a scalar (shape `[]`), or another array's
    copy."""
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
