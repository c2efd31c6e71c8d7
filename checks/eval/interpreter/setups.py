"""What the set-up of a test class leaves behind, so that it is followed once for all of its tests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from checks.eval.interpreter.values import (
    Array,
    FuncRef,
    Instance,
    Native,
    Origin,
    PyDict,
    PyList,
    Store,
    V,
)

if TYPE_CHECKING:
    from checks.eval.interpreter.frames import State

K = TypeVar("K")
Named = dict[tuple[str, str], V]


@dataclass(frozen=True, slots=True)
class SetUp:
    """The test's object `me` and what else its set-up changed of an interpretation, having `spent` of the budget."""

    me: V
    constants: Named
    overrides: Named
    trace: list[tuple[Origin, str, str]]
    stores: dict[Origin, int]
    unknowns: int
    spent: int

    @classmethod
    def left(cls, state: State, me: V, budget: int) -> SetUp:
        """What a set-up left behind in `state`, which had `budget` before it."""
        overrides, spent = state.program.overrides, budget - state.budget
        return cls(
            me, state.constants, overrides, state.trace, state.stores, state.unknowns, spent
        ).copy()

    def resume(self, state: State) -> V:
        """Have `state` be as it was left; gives the test's object."""
        left = self.copy()
        state.constants, state.program.overrides = left.constants, left.overrides
        state.trace, state.stores, state.unknowns = left.trace, left.stores, left.unknowns
        state.budget -= left.spent
        return left.me

    def copy(self) -> SetUp:
        """The same with objects of its own, which share among themselves what these share."""
        copies = _Copies()
        me, constants, overrides = (
            copies.of(self.me),
            copies.each(self.constants),
            copies.each(self.overrides),
        )
        return SetUp(
            me, constants, overrides, [*self.trace], {**self.stores}, self.unknowns, self.spent
        )


class _Copies:
    """Copies of what can be written to, each made once, by the identity of what it is a copy of."""

    def __init__(self) -> None:
        self._made: dict[int, Any] = {}

    def of(self, v: V) -> V:
        copy = _HANDLERS.get(v.value.__class__)
        if copy is None:
            return v
        found = self._made.get(id(v.value))
        return V(copy(self, v.value) if found is None else found, v.origins)

    def each(self, values: dict[K, V]) -> dict[K, V]:
        made = self._made.get(id(values))
        if made is None:
            made = self._made[id(values)] = {}
            for key, v in values.items():
                made[key] = self.of(v)
        copied: dict[K, V] = made
        return copied

    def _list(self, old: PyList) -> PyList:
        new = self._made[id(old)] = PyList(None, old.length, old.kind)
        new.items = None if old.items is None else [self.of(v) for v in old.items]
        return new

    def _dict(self, old: PyDict) -> PyDict:
        new = self._made[id(old)] = PyDict({}, old.open)
        new.items = self.each(old.items)
        return new

    def _instance(self, old: Instance) -> Instance:
        new = self._made[id(old)] = Instance(old.cls, {}, old.open)
        new.attrs = self.each(old.attrs)
        return new

    def _array(self, old: Array) -> Array:
        return Array(old.shape, self._store(old.store), old.strides, old.offset)

    def _store(self, old: Store) -> Store:
        store: Store | None = self._made.get(id(old))
        if store is None:
            store = self._made[id(old)] = Store(old.fill)
            store.fill, store.cells = self.of(old.fill), self.each(old.cells)
        return store

    def _function(self, old: FuncRef) -> FuncRef:
        bound = None if old.bound is None else self.of(old.bound)
        return FuncRef(
            old.function, old.unit, bound, None if old.scope is None else self.each(old.scope)
        )

    def _native(self, old: Native) -> Native:
        return old if old.self_ is None else Native(old.name, self.of(old.self_))

    def _slice(self, old: slice) -> slice:
        return slice(
            *[self.of(p) if isinstance(p, V) else p for p in (old.start, old.stop, old.step)]
        )


_HANDLERS: dict[type, Callable[[_Copies, Any], Any]] = {
    PyList: _Copies._list,
    PyDict: _Copies._dict,
    Instance: _Copies._instance,
    Array: _Copies._array,
    FuncRef: _Copies._function,
    Native: _Copies._native,
    slice: _Copies._slice,
}
