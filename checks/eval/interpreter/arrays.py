"""Arrays: indexing, slicing, reshaping and the usual constructors, on shapes and the cells that are known."""

from __future__ import annotations

from itertools import repeat
from math import prod
from types import EllipsisType
from typing import Any

from checks.eval.interpreter.values import (
    ANY,
    LARGEST,
    NOWHERE,
    UNKNOWN,
    Array,
    Origins,
    PyList,
    Raised,
    V,
    dense,
    unknown,
)

Index = V | slice | EllipsisType


def scalar(v: V) -> V:
    """The one element of a size-1 array, or `v` itself."""
    if isinstance(v.value, Array) and v.value.size == 1:
        array = v.value
        return array.store.cells.get(array.offset, array.store.fill).also(v.origins)
    return v


def view(array: Array, indices: list[Index]) -> V:
    """`array[indices]`: a view, or the element for a full index. Raises IndexError where it is certain."""
    offset, shape, strides = array.offset, [], []
    came: Origins = NOWHERE
    indices = spread(indices, len(array.shape))
    if len(indices) > len(array.shape):
        raise Raised("IndexError", "too many indices", NOWHERE)
    padded: list[Index] = [*indices, *[slice(None)] * (len(array.shape) - len(indices))]
    for index, size, stride in zip(padded, array.shape, array.strides, strict=True):
        if isinstance(index, slice | EllipsisType):
            index = slice(None) if isinstance(index, EllipsisType) else index
            cut = _cut(index, size)
            if cut is None:
                return unknown(size)
            start, length, step, origins = cut
            offset += start * stride
            shape.append(V(length, size.origins | origins))
            strides.append(stride * step)
            continue
        index = scalar(index)
        if isinstance(index.value, bool) or not isinstance(index.value, int):
            return unknown(index)
        place = index.value + size.value if index.value < 0 else index.value
        if not 0 <= place < size.value:
            detail = f"index {index.value} is out of bounds for size {size.value}"
            raise Raised("IndexError", detail, index.origins | size.origins)
        came |= index.origins
        offset += place * stride
    if not shape:
        return array.store.cells.get(offset, array.store.fill).also(came)
    return V(Array(tuple(shape), array.store, tuple(strides), offset), came)


def spread(indices: list[Index], depth: int) -> list[Index]:
    """`...` as the full slices it stands for."""
    at = next((n for n, i in enumerate(indices) if isinstance(i, EllipsisType)), None)
    if at is None:
        return indices
    return [*indices[:at], *[slice(None)] * (depth - len(indices) + 1), *indices[at + 1 :]]


def _cut(index: slice, size: V) -> tuple[int, int, int, Origins] | None:
    parts = [scalar(p) if isinstance(p, V) else V(p) for p in (index.start, index.stop, index.step)]
    if not all(
        p.value is None or (isinstance(p.value, int) and not isinstance(p.value, bool))
        for p in parts
    ):
        return None
    if parts[2].value == 0:
        return None
    start, stop, step = slice(*(p.value for p in parts)).indices(size.value)
    origins = frozenset().union(*(p.origins for p in parts))
    return start, len(range(start, stop, step)), step, origins


def assign(array: Array, indices: list[Index], value: V) -> None:
    """`array[indices] = value`, with broadcasting of scalars and of equal shapes; else the cells become unknown."""
    indices = spread(indices, len(array.shape))
    target = view(array, indices)
    if not isinstance(target.value, Array):
        fixed = [i for i in indices if isinstance(i, V)]
        if len(fixed) == len(array.shape) and all(isinstance(scalar(i).value, int) for i in fixed):
            place = tuple(
                int(scalar(i).value) % max(d, 1) for i, d in zip(fixed, array.dims, strict=True)
            )
            array.put(place, scalar(value) if not isinstance(scalar(value).value, Array) else ANY)
        else:
            array.forget()
        return
    fill(target.value, value)


def fill(target: Array, value: V) -> None:
    """Write `value` into every cell of `target`."""
    if target.size > LARGEST:
        target.forget()
        return
    source = scalar(value)
    same = isinstance(source.value, Array) and source.value.size == target.size
    flat = (
        [source.value.get(p) for p in source.value.places()]
        if same and isinstance(source.value, Array)
        else None
    )
    if flat is None and isinstance(source.value, Array | PyList):
        flat = [ANY] * target.size
    cells = (
        repeat(source.also(value.origins))
        if flat is None
        else (v.also(value.origins) for v in flat)
    )
    for place, cell in zip(target.places(), cells, strict=False):
        target.put(place, cell)


def reshape(array: Array, dims: list[V]) -> V:
    """The same cells in another shape; raises ValueError where the sizes cannot agree."""
    dims = [scalar(d) for d in dims]
    if any(not isinstance(d.value, int) for d in dims):
        return unknown(*dims)
    sizes = [int(d.value) for d in dims]
    rest = prod(s for s in sizes if s != -1)
    total = array.size
    if sizes.count(-1) == 1 and rest and total % rest == 0:
        sizes[sizes.index(-1)] = total // rest
    origins = frozenset().union(*(d.origins for d in (*dims, *array.shape)))
    if prod(sizes) != total or -1 in sizes:
        raise Raised("ValueError", f"cannot reshape size {total} into {tuple(sizes)}", origins)
    shape = tuple(V(s, d.origins) for s, d in zip(sizes, dims, strict=True))
    if array.strides == dense(array.dims):
        return V(Array(shape, array.store, dense(tuple(sizes)), array.offset))
    copy = Array.full(shape, array.store.fill)
    if total <= LARGEST:
        copy.store.cells = {n: array.get(p) for n, p in enumerate(array.places())}
    else:
        copy.forget()
    return V(copy)


def to_list(array: Array) -> V:
    """`tolist()`: nested lists, each with the lines that decided its length."""
    if not array.shape:
        return array.get(())
    if array.size > LARGEST or array.dims[0] > LARGEST:
        return ANY
    return _nested(array, ())


def _nested(array: Array, place: tuple[int, ...]) -> V:
    depth = len(place)
    if depth == len(array.shape):
        return array.get(place)
    size = array.shape[depth]
    items = [_nested(array, (*place, n)) for n in range(size.value)]
    return V(PyList(items, size.origins))


def from_list(v: V) -> V:
    """An array of a nested list of known shape, a scalar (shape `[]`), or another array's copy."""
    shape = _shape(v)
    if shape is None:
        return unknown(v)
    array = Array.full(tuple(shape), ANY)
    for place in array.places():
        array.put(place, _at(v, place))
    return V(array, v.origins)


def _shape(v: V) -> list[V] | None:
    if isinstance(v.value, Array):
        return list(v.value.shape) if v.value.size <= LARGEST else None
    if not isinstance(v.value, PyList):
        return None if v.value is UNKNOWN else []
    if v.value.items is None:
        return None
    if not v.value.items:
        return [V(0, v.value.length)]
    inner = [_shape(i) for i in v.value.items]
    first = inner[0]
    if first is None or any(
        i is None or [d.value for d in i] != [d.value for d in first] for i in inner
    ):
        return None
    return [V(len(inner), v.value.length), *first]


def _at(v: V, place: tuple[int, ...]) -> V:
    for depth, n in enumerate(place):
        if isinstance(v.value, Array):
            return v.value.get(place[depth:])
        v = v.value.items[n]
    return v


def shape_of(args: list[V]) -> list[V] | None:
    """The dimensions meant by `f(2, 3)`, `f([2, 3])` or `f((2, 3))`; None where they are not known."""
    if len(args) == 1 and isinstance(args[0].value, PyList):
        args = args[0].value.items or [] if args[0].value.items is not None else [ANY]
    dims = [scalar(a) for a in args]
    if any(isinstance(d.value, bool) or not isinstance(d.value, int) or d.value < -1 for d in dims):
        return None
    return dims


def elementwise(a: V, b: V | None, op: Any) -> V:
    """`op` cell by cell where shapes agree or one side is a scalar; unknown cells stay unknown."""
    arrays = [v.value for v in (a, b) if v is not None and isinstance(v.value, Array)]
    if len(arrays) == 2 and arrays[0].dims != arrays[1].dims:
        return unknown(a, *([b] if b else []))
    first = arrays[0]
    result = Array.full(first.shape, ANY)
    if first.size > LARGEST:
        return V(result, a.origins)

    def cell(v: V, place: tuple[int, ...]) -> V:
        return v.value.get(place) if isinstance(v.value, Array) else v

    for place in first.places():
        result.put(
            place, op(cell(a, place), cell(b, place)) if b is not None else op(cell(a, place))
        )
    return V(result, a.origins | (b.origins if b is not None else NOWHERE))
