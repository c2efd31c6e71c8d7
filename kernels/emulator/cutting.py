"""Calls that are too large to be kept, with less of what each of their rows has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kernels.emulator.library import HostTensor, Value

_FLOATS = ("float", "bfloat")


def cut_to_fit(values: Sequence[Value], most: int) -> list[Value] | None:
    """The call with narrower rows of floats, so that it has at most `most` bytes; nothing where
    that cannot be.

    The vocabulary, or a hidden state: a size that is the last one of floats alone, and of no
    other dimension. It is halved as long as no integer may be an index into what goes, and in all
    tensors at once; a number that is the size follows it.
    """
    for width in sorted(_widths(values), reverse=True):
        narrow = _fitting(values, width, most)
        if narrow > _largest_index(values, width):
            return [_cut(value, width, narrow) for value in values]
    return None


def size_in_bytes(values: Sequence[Any]) -> int:
    """The bytes of all tensors."""
    return sum(tensor.array.nbytes for tensor in _tensors(values))


def _tensors(values: Sequence[Any]) -> Iterator[HostTensor]:
    for value in values:
        if isinstance(value, HostTensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors(value)


def _has_rows(tensor: HostTensor) -> bool:
    """Whether it has floats for each of several things."""
    return tensor.array.ndim > 1 and tensor.dtype.startswith(_FLOATS)


def _widths(values: Sequence[Value]) -> set[int]:
    """The sizes of rows of floats that no other dimension has."""
    widths: set[int] = set()
    others: set[int] = set()
    for tensor in _tensors(values):
        shape = tensor.array.shape
        if _has_rows(tensor):
            widths.add(shape[-1])
            others.update(shape[:-1])
        else:
            others.update(shape)
    return widths - others


def _fitting(values: Sequence[Value], width: int, most: int) -> int:
    """The half of a width, or its half, and so on, with which the call fits; 0 where none does."""
    whole = size_in_bytes(values)
    rows = [tensor for tensor in _tensors(values) if _is_wide(tensor, width)]
    of_one = sum(tensor.array.nbytes for tensor in rows) // width
    narrow = width
    while whole - of_one * (width - narrow) > most:
        if narrow % 2 or narrow == 0:
            return 0
        narrow //= 2
    return narrow


def _largest_index(values: Sequence[Value], width: int) -> int:
    """The largest integer among those that may be indices into rows of a width: where one is too
    large for that, those beside it are none either."""
    found = [-1]
    for value in values:
        largest = _largest(value)
        if largest is not None and largest < width:
            found.append(largest)
    return max(found)


def _largest(value: Value) -> int | None:
    if isinstance(value, HostTensor) and value.array.dtype.kind in "iu" and value.array.size:
        # The bits of floats that numpy does not have are no indices.
        return None if value.dtype.startswith(_FLOATS) else int(np.max(value.array))
    return value if isinstance(value, int) else None


def _is_wide(value: object, width: int) -> bool:
    return isinstance(value, HostTensor) and _has_rows(value) and value.array.shape[-1] == width


def _cut(value: Any, width: int, narrow: int) -> Any:
    if _is_wide(value, width):
        return replace(value, array=value.array[..., :narrow])
    if isinstance(value, (list, tuple)):
        return [_cut(item, width, narrow) for item in value]
    is_width = isinstance(value, int) and value == width
    return narrow if is_width else value
