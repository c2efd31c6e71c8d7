"""The values of the interpreter, and the lines they came through."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from itertools import product
from math import prod
from typing import Any, Final, NamedTuple

from checks.lang.ir.source_file import Class, Function, SourceFile


class UnknownType(Enum):
    """The type of `UNKNOWN`, so that a type checker can tell it from a value."""

    UNKNOWN = "unknown"


UNKNOWN: Final = UnknownType.UNKNOWN
# Arrays and lists with more elements than this are not followed element by element.
LARGEST = 4096
# The scalars of Python that may be keys of a dict, and operands.
SCALARS = (int, float, str, bool, type(None))


class ValueOrigin(NamedTuple):
    """A line that a value passed through: a write in a test file, or an altered line."""

    path: str
    line: int


Origins = frozenset[ValueOrigin]
NO_ORIGINS: Origins = frozenset()


@dataclass(frozen=True, slots=True)
class Value:
    """A value with the lines it came through.

    `value` is a scalar, a `slice`, `UNKNOWN`, or one of the classes below.
    """

    value: Any
    origins: Origins = NO_ORIGINS

    @property
    def known(self) -> bool:
        return self.value is not UNKNOWN

    def with_origin(self, origin: ValueOrigin) -> Value:
        """The same value, which came through this line too."""
        return self.with_origins((origin,))

    def with_origins(self, origins: Iterable[ValueOrigin]) -> Value:
        """The same value, which came through these lines too."""
        return Value(self.value, self.origins.union(origins))


UNKNOWN_VALUE = Value(UNKNOWN)
NONE_VALUE = Value(None)


def join_origins(values: Iterable[Value]) -> Origins:
    """All lines that any of `values` came through."""
    return NO_ORIGINS.union(*[value.origins for value in values])


def unknown(*values: Value) -> Value:
    """An unknown value that depends on `values`."""
    return Value(UNKNOWN, join_origins(values))


@dataclass(slots=True)
class PyList:
    """A list or tuple (`kind`).

    `items` is None when unknown; `length` holds the lines that decided how long it is.
    """

    items: list[Value] | None
    length: Origins = NO_ORIGINS
    kind: str = "list"


@dataclass(slots=True)
class PyDict:
    """A dict with hashable scalar keys; `open` when it may hold more than is known."""

    items: dict[Any, Value]
    open: bool = False


@dataclass(slots=True)
class Instance:
    """An object. `cls` is None for namespaces and mocks.

    `open` when it may have attributes that are not known.
    """

    cls: ClassRef | None
    attrs: dict[str, Value] = field(default_factory=dict)
    open: bool = False


@dataclass(frozen=True, slots=True)
class ClassRef:
    """A class of a parsed file."""

    cls: Class
    unit: SourceFile


@dataclass(frozen=True, slots=True)
class FuncRef:
    """A function of a parsed file, with `bound` as first argument when it is a method.

    `scope` holds an enclosing function's names.
    """

    function: Function
    unit: SourceFile
    bound: Value | None = None
    scope: dict[str, Value] | None = None


@dataclass(frozen=True, slots=True)
class ModuleRef:
    """A module of the tree (`unit`), or a foreign one known by name only."""

    name: str
    unit: SourceFile | None = None


@dataclass(frozen=True, slots=True)
class Native:
    """A function of Python or a foreign library (`len`, `numpy.zeros`), or a method of `self_`."""

    name: str
    self_: Value | None = None


@dataclass(slots=True)
class ArrayBuffer:
    """The elements behind arrays, by flat index; those that were never written are `fill`."""

    fill: Value
    cells: dict[int, Value] = field(default_factory=dict)


@dataclass(slots=True)
class Array:
    """A numpy, torch or paddle array: a strided view on a buffer that other views share.

    `shape` holds one int a dimension, with the lines that decided it. `strides` and `offset` count
    elements of the buffer.
    """

    shape: tuple[Value, ...]
    buffer: ArrayBuffer
    strides: tuple[int, ...]
    offset: int = 0

    @classmethod
    def full(cls, shape: tuple[Value, ...], fill: Value) -> Array:
        """A new array whose elements are all `fill`."""
        dims = tuple(size.value for size in shape)
        return cls(shape, ArrayBuffer(fill), row_major_strides(dims))

    @property
    def dims(self) -> tuple[int, ...]:
        return tuple([size.value for size in self.shape])

    @property
    def size(self) -> int:
        return prod(self.dims)

    def get(self, place: tuple[int, ...]) -> Value:
        return self.get_flat(self._flat_index(place))

    def get_flat(self, index: int) -> Value:
        """The element at `index` of the buffer."""
        return self.buffer.cells.get(index, self.buffer.fill)

    def put(self, place: tuple[int, ...], value: Value) -> None:
        self.buffer.cells[self._flat_index(place)] = value

    def _flat_index(self, place: tuple[int, ...]) -> int:
        steps = [index * stride for index, stride in zip(place, self.strides, strict=False)]
        return self.offset + sum(steps)

    def places(self) -> Iterator[tuple[int, ...]]:
        """Every full index, in row-major order."""
        return product(*[range(size) for size in self.dims])

    def forget(self) -> None:
        """Every element may have been written by something unknown.

        Of a large array the whole buffer is forgotten, not only the part that this view shows.
        """
        if self.size <= LARGEST:
            for place in self.places():
                self.put(place, UNKNOWN_VALUE)
            return
        self.buffer.cells.clear()
        self.buffer.fill = UNKNOWN_VALUE


def row_major_strides(dims: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of a dense array with these dimensions, in elements."""
    strides: list[int] = []
    step = 1
    for size in reversed(dims):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def truth(value: Value) -> bool | None:
    """Whether `value` is true, or None where that is not known."""
    match value.value:
        case bool() | int() | float() | str() | None:
            return bool(value.value)
        case PyList(items=items):
            return None if items is None else bool(items)
        case PyDict(items=items, open=is_open):
            if not items and is_open:
                return None
            return bool(items)
        case Array() as array if array.size == 1:
            return truth(array.get((0,) * len(array.shape)))
        case ClassRef() | FuncRef() | ModuleRef() | Native():
            return True
        case Instance(cls=ClassRef(), open=False):
            return True
        case _:
            return None


class SimulatedException(Exception):
    """The interpreted code raises the exception `name`.

    `where` is the line that raises, `origins` are the lines that the culprit came through.
    """

    def __init__(self, name: str, detail: str, origins: Origins) -> None:
        super().__init__(name, detail)
        self.name = name
        self.detail = detail
        self.origins = origins
        self.where: ValueOrigin | None = None


class BudgetExceeded(Exception):
    """The budget is used up, or something cannot be followed; nothing is concluded."""
