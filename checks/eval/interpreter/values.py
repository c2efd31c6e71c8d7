"""The values of the interpreter, and where they came from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from itertools import product
from math import prod
from operator import mul
from typing import Any, Final, NamedTuple

from checks.lang.ir.source_file import Class, Function, SourceFile


class _Unknown(Enum):
    UNKNOWN = "unknown"


UNKNOWN: Final = _Unknown.UNKNOWN
LARGEST = 4096


class Origin(NamedTuple):
    """A line that a value passed through: a fixture's write in a test, or a line that the change altered."""

    path: str
    line: int


Origins = frozenset[Origin]
NOWHERE: Origins = frozenset()


@dataclass(frozen=True, slots=True)
class V:
    """A value with the lines it came through. `value` is a scalar, `UNKNOWN`, or one of the classes below."""

    value: Any
    origins: Origins = NOWHERE

    @property
    def known(self) -> bool:
        return self.value is not UNKNOWN

    def through(self, origin: Origin) -> V:
        """The same value, which came through this line too."""
        return self if origin in self.origins else V(self.value, self.origins.union((origin,)))

    def also(self, *others: Iterable[Origin]) -> V:
        """The same value, known to come through `others` too."""
        every = self.origins.union(*others)
        return V(self.value, every) if len(every) > len(self.origins) else self


ANY = V(UNKNOWN)
NONE = V(None)


def unknown(*values: V) -> V:
    """An unknown value that depends on `values`."""
    origins = NOWHERE.union(*[v.origins for v in values])
    return V(UNKNOWN, origins) if origins else ANY


@dataclass(slots=True)
class PyList:
    """A list or tuple; `length` holds the lines that decided how long it is. `items` is None when unknown."""

    items: list[V] | None
    length: Origins = NOWHERE
    kind: str = "list"


@dataclass(slots=True)
class PyDict:
    """A dict with hashable scalar keys; `open` when it may hold more than is known."""

    items: dict[Any, V]
    open: bool = False


@dataclass(slots=True)
class Instance:
    """An object. `cls` is None for namespaces and mocks; `open` when attributes may exist that are not known."""

    cls: ClassRef | None
    attrs: dict[str, V] = field(default_factory=dict)
    open: bool = False


@dataclass(frozen=True, slots=True)
class ClassRef:
    cls: Class
    unit: SourceFile


@dataclass(frozen=True, slots=True)
class FuncRef:
    """A function of a parsed file, bound to `self` when it is a method; `scope` holds an enclosing function's names."""

    function: Function
    unit: SourceFile
    bound: V | None = None
    scope: dict[str, V] | None = None


@dataclass(frozen=True, slots=True)
class ModuleRef:
    """A module of the tree (`unit`), or a foreign one known by name only."""

    name: str
    unit: SourceFile | None = None


@dataclass(frozen=True, slots=True)
class Native:
    """A function of a foreign library (`numpy.zeros`), or a method of a modelled value (`self_` is set)."""

    name: str
    self_: V | None = None


@dataclass(slots=True)
class Store:
    """The elements behind arrays, by flat index; those that were never written are `fill`."""

    fill: V
    cells: dict[int, V] = field(default_factory=dict)


@dataclass(slots=True)
class Array:
    """A numpy, torch or paddle array: a strided view on storage that other views share.

    `shape` holds one int a dimension, with the lines that decided it.
    """

    shape: tuple[V, ...]
    store: Store
    strides: tuple[int, ...]
    offset: int = 0

    @classmethod
    def full(cls, shape: tuple[V, ...], fill: V) -> Array:
        return cls(shape, Store(fill), dense(tuple(d.value for d in shape)))

    @property
    def dims(self) -> tuple[int, ...]:
        return tuple([d.value for d in self.shape])

    @property
    def size(self) -> int:
        return prod(self.dims)

    def get(self, place: tuple[int, ...]) -> V:
        return self.store.cells.get(self._flat(place), self.store.fill)

    def put(self, place: tuple[int, ...], value: V) -> None:
        self.store.cells[self._flat(place)] = value

    def _flat(self, place: tuple[int, ...]) -> int:
        flat: int = self.offset + sum(map(mul, place, self.strides))
        return flat

    def places(self) -> Iterator[tuple[int, ...]]:
        return product(*(range(d) for d in self.dims))

    def forget(self) -> None:
        """Every cell may have been written by something unknown; beyond a size, every cell of the storage."""
        if self.size <= LARGEST:
            for place in self.places():
                self.put(place, ANY)
            return
        self.store.cells.clear()
        self.store.fill = ANY


def dense(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Row-major strides of `shape`, in elements."""
    strides: list[int] = []
    step = 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def truth(v: V) -> bool | None:
    """Whether `v` is true, or None where that is not known."""
    match v.value:
        case _Unknown.UNKNOWN:
            return None
        case bool() | int() | float() | str() | None:
            return bool(v.value)
        case PyList(items=items):
            return None if items is None else bool(items)
        case PyDict(items=items, open=is_open):
            return True if items else (None if is_open else False)
        case Array() as array if array.size == 1:
            return truth(array.get((0,) * len(array.shape)))
        case ClassRef() | FuncRef() | ModuleRef() | Native():
            return True
        case Instance(cls=cls, open=False) if cls is not None:
            return True
        case _:
            return None


class Raised(Exception):
    """The interpreted code raises `name` at `where`; `origins` are the lines the culprit came through.

    `doubtful`: it is only raised on some paths.
    """

    def __init__(self, name: str, detail: str, origins: Origins) -> None:
        super().__init__(name, detail)
        self.name = name
        self.detail = detail
        self.origins = origins
        self.where: Origin | None = None
        self.doubtful = False


class GaveUp(Exception):
    """The interpreter ran out of its budget, or met something it cannot follow; nothing is concluded."""
