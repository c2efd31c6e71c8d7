"""What the set-up of a test class leaves behind, kept for all of its tests."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from checks.eval.interpreter.values import (
    Array,
    ArrayBuffer,
    FuncRef,
    Instance,
    Native,
    PyDict,
    PyList,
    Value,
    ValueOrigin,
)

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class SetupSnapshot:
    """The test's object `instance`, and what else its set-up changed of an interpretation.

    `spent` is how much of the budget the set-up took. The fields are those of `Interpretation`.
    """

    instance: Value
    constants: dict[tuple[str, str], Value]
    overrides: dict[tuple[str, str], Value]
    trace: list[tuple[ValueOrigin, str, str]]
    stores: dict[ValueOrigin, int]
    unknowns: int
    spent: int

    def copy(self) -> SetupSnapshot:
        """The same with objects of its own, which share among themselves what these share."""
        copier = _Copier()
        return replace(
            self,
            instance=copier.copy_value(self.instance),
            constants=copier.copy_values(self.constants),
            overrides=copier.copy_values(self.overrides),
            trace=list(self.trace),
            stores=dict(self.stores),
        )


class _Copier:
    """Copies what can be written to.

    Each object is copied once, by its identity: two names of one list are two names of one copy,
    and an object that holds itself is no endless loop.
    """

    def __init__(self) -> None:
        self._copies: dict[int, Any] = {}

    def copy_value(self, value: Value) -> Value:
        return Value(self._copy(value.value), value.origins)

    def copy_values(self, values: dict[K, Value]) -> dict[K, Value]:
        if id(values) in self._copies:
            shared: dict[K, Value] = self._copies[id(values)]
            return shared
        copies: dict[K, Value] = {}
        self._copies[id(values)] = copies
        for key, value in values.items():
            copies[key] = self.copy_value(value)
        return copies

    def _copy(self, content: Any) -> Any:
        if id(content) in self._copies:
            return self._copies[id(content)]
        match content:
            case PyList():
                return self._copy_list(content)
            case PyDict():
                return self._copy_dict(content)
            case Instance():
                return self._copy_instance(content)
            case ArrayBuffer():
                return self._copy_buffer(content)
            case Array():
                buffer = self._copy(content.buffer)
                return Array(content.shape, buffer, content.strides, content.offset)
            case FuncRef():
                return self._copy_function(content)
            case Native(name=name, self_=Value() as owner):
                return Native(name, self.copy_value(owner))
            case slice():
                return slice(
                    self._copy_end(content.start),
                    self._copy_end(content.stop),
                    self._copy_end(content.step),
                )
            case _:
                return content

    # The copy is noted before what it holds is copied, because that may lead back to it.

    def _copy_list(self, old: PyList) -> PyList:
        new = PyList(None, old.length, old.kind)
        self._copies[id(old)] = new
        if old.items is not None:
            new.items = [self.copy_value(item) for item in old.items]
        return new

    def _copy_dict(self, old: PyDict) -> PyDict:
        new = PyDict({}, old.open)
        self._copies[id(old)] = new
        new.items = self.copy_values(old.items)
        return new

    def _copy_instance(self, old: Instance) -> Instance:
        new = Instance(old.cls, {}, old.open)
        self._copies[id(old)] = new
        new.attrs = self.copy_values(old.attrs)
        return new

    def _copy_buffer(self, old: ArrayBuffer) -> ArrayBuffer:
        new = ArrayBuffer(old.fill)
        self._copies[id(old)] = new
        new.fill = self.copy_value(old.fill)
        new.cells = self.copy_values(old.cells)
        return new

    def _copy_function(self, old: FuncRef) -> FuncRef:
        bound = None if old.bound is None else self.copy_value(old.bound)
        scope = None if old.scope is None else self.copy_values(old.scope)
        return FuncRef(old.function, old.unit, bound, scope)

    def _copy_end(self, end: Any) -> Any:
        return self.copy_value(end) if isinstance(end, Value) else end
