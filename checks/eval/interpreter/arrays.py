"""Arrays: indexing, slicing and writing, on shapes and on the elements that are known."""

from __future__ import annotations

from types import EllipsisType

from checks.eval.interpreter.values import (
    LARGEST,
    NO_ORIGINS,
    UNKNOWN_VALUE,
    Array,
    Origins,
    PyList,
    SimulatedException,
    Value,
    join_origins,
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

    Raises `SimulatedException` (an IndexError) where that is certain.
    """
    offset = array.offset
    shape: list[Value] = []
    strides: list[int] = []
    index_origins: Origins = NO_ORIGINS
    indices = _expand_ellipsis(indices, len(array.shape))
    if len(indices) > len(array.shape):
        raise SimulatedException("IndexError", "too many indices", NO_ORIGINS)
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
        raise SimulatedException("IndexError", detail, index.origins | size.origins)
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
