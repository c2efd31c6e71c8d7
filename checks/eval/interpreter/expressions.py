"""Expressions: operators, indexing, displays and comprehensions."""

from __future__ import annotations

import operator
from collections.abc import Callable
from types import EllipsisType
from typing import Any

from checks.eval.interpreter import arrays, natives
from checks.eval.interpreter.names import Names
from checks.eval.interpreter.values import (
    ANY,
    Array,
    GaveUp,
    Instance,
    PyDict,
    PyList,
    Raised,
    V,
    truth,
    unknown,
)
from checks.lang.ir import expr as E


class Expressions(Names):
    """The value of an expression."""

    def eval(self, e: E.Expr) -> V:
        """The value of an expression."""
        self.budget -= 1
        if self.budget < 0:
            raise GaveUp
        handler = _HANDLERS.get(e.__class__)
        return ANY if handler is None else handler(self, e)

    def _constant_value(self, e: E.Const) -> V:
        return V(e.value)

    def _named(self, e: E.Name) -> V:
        frame = self.frames[-1]
        found = frame.names.get(e.id)
        return self.around(e.id, frame) if found is None else found

    def _attribute_value(self, e: E.Attr) -> V:
        return self.attribute(self.eval(e.base), e.name)

    def _indexed(self, e: E.Index) -> V:
        return self.item(self.eval(e.base), e.indices)

    def _called(self, e: E.Call) -> V:
        return self.call_expr(e)

    def _binary(self, e: E.Binary) -> V:
        if e.op in ("and", "or"):
            return self._logic(e.op, e.left, e.right)
        return natives.binary(e.op, self.eval(e.left), self.eval(e.right))

    def _ternary(self, e: E.Ternary) -> V:
        known = truth(self.eval(e.test))
        return ANY if known is None else self.eval(e.then if known else e.orelse)

    def _sequence(self, e: E.Sequence) -> V:
        starred = any(isinstance(i, E.Unary) and i.op == "*" for i in e.items)
        return V(PyList(None if starred else [self.eval(i) for i in e.items], kind=e.kind))

    def _unary(self, e: E.Unary) -> V:
        v = arrays.scalar(self.eval(e.operand))
        if e.op == "not":
            known = truth(v)
            return V(not known, v.origins) if known is not None else unknown(v)
        if isinstance(v.value, int | float) and not (e.op == "~" and isinstance(v.value, float)):
            value = _UNARY.get(e.op)
            return V(value(v.value), v.origins) if value else unknown(v)
        return unknown(v)

    def _logic(self, op: str, left: E.Expr, right: E.Expr) -> V:
        first = self.eval(left)
        known = truth(first)
        if known is None:
            second = self.eval(right)
            decided = truth(second)
            stops = (
                decided is not None and decided == (op == "or") and isinstance(second.value, bool)
            )
            return second if stops else unknown(first, second)
        return self.eval(right) if known == (op == "and") else first

    def _mapping(self, e: E.Mapping) -> V:
        made = PyDict({})
        for key, value in e.items:
            name = self.eval(key) if key is not None else ANY
            item = self.eval(value)
            if isinstance(name.value, natives.SCALARS):
                made.items[name.value] = item
            else:
                made.open = True
        return V(made)

    def _comprehension(self, e: E.Comprehension) -> V:
        if len(e.clauses) != 1 or e.kind not in ("list", "generator"):
            return ANY
        target, iterable, conditions = e.clauses[0]
        source = self.eval(iterable)
        items = natives.sequence(source)
        if items is None:
            return unknown(source)
        frame, made = self.frame, []
        saved = dict(frame.names)
        try:
            for item in items:
                self.store(target, item)
                verdicts = [truth(self.eval(c)) for c in conditions]
                if None in verdicts:
                    return unknown(source)
                if all(verdicts):
                    made.append(self.eval(e.element))
        finally:
            frame.names.clear()
            frame.names.update(saved)
        return V(
            PyList(
                made, source.value.length if isinstance(source.value, PyList) else source.origins
            )
        )

    def index(self, e: E.Expr) -> arrays.Index:
        if isinstance(e, E.Slice):
            parts = [self.eval(p) if p is not None else None for p in (e.lower, e.upper, e.step)]
            return slice(*parts)
        if e == E.Name("..."):
            return ...
        found = self.eval(e)
        return found.value if isinstance(found.value, slice) else found

    def places(self, indices: tuple[E.Expr, ...]) -> list[arrays.Index]:
        """What stands between the brackets; one tuple is spread, as Python does."""
        found = [self.index(i) for i in indices]
        match found:
            case [V(value=PyList(items=list() as items, kind="tuple"))]:
                found = [i.value if isinstance(i.value, slice | EllipsisType) else i for i in items]
        return found

    def item(self, owner: V, indices: tuple[E.Expr, ...]) -> V:
        places = self.places(indices)
        match owner.value:
            case Instance():
                getter = self.special(owner, "__getitem__")
                return (
                    self.call_function(getter, [key_of(places)], {})
                    if getter is not None
                    else unknown(owner)
                )
            case Array() as array:
                return (
                    arrays.view(array, places).also(owner.origins)
                    if plain(places)
                    else unknown(owner)
                )
            case PyList(items=list() as items) if len(places) == 1:
                return self._list_item(owner, items, places[0])
            case PyDict() as mapping if len(places) == 1 and isinstance(places[0], V):
                key = places[0]
                if not isinstance(key.value, natives.SCALARS):
                    return unknown(owner)
                if key.value in mapping.items:
                    return mapping.items[key.value]
                if mapping.open:
                    return unknown(owner)
                raise Raised("KeyError", repr(key.value), key.origins | owner.origins)
            case _:
                return unknown(owner)

    def _list_item(self, owner: V, items: list[V], place: arrays.Index) -> V:
        length = owner.value.length
        if isinstance(place, slice):
            parts = [
                arrays.scalar(p) if isinstance(p, V) else V(None)
                for p in (place.start, place.stop, place.step)
            ]
            if any(p.value is not None and type(p.value) is not int for p in parts):
                return unknown(owner, *parts)
            cut = items[slice(*(p.value for p in parts))]
            return V(
                PyList(cut, length.union(*(p.origins for p in parts)), owner.value.kind),
                owner.origins,
            )
        if not isinstance(place, V):
            return unknown(owner)
        index = arrays.scalar(place)
        if not isinstance(index.value, int):
            return unknown(owner, index)
        if not -len(items) <= index.value < len(items):
            detail = f"list index {index.value} out of range for length {len(items)}"
            raise Raised("IndexError", detail, length | index.origins)
        return items[index.value]


_UNARY: dict[str, Callable[[Any], Any]] = {
    "-": operator.neg,
    "+": operator.pos,
    "~": operator.invert,
}

# By the hundred thousand: a `match` over the classes takes three times as long.
_HANDLERS: dict[type[E.Expr], Callable[[Expressions, Any], V]] = {
    E.Const: Expressions._constant_value,
    E.Name: Expressions._named,
    E.Attr: Expressions._attribute_value,
    E.Index: Expressions._indexed,
    E.Call: Expressions._called,
    E.Unary: Expressions._unary,
    E.Binary: Expressions._binary,
    E.Ternary: Expressions._ternary,
    E.Sequence: Expressions._sequence,
    E.Mapping: Expressions._mapping,
    E.Comprehension: Expressions._comprehension,
}


def plain(places: list[arrays.Index]) -> bool:
    """Only whole numbers and slices: anything else (masks, Ellipsis, lists) is advanced indexing."""
    return all(type(arrays.scalar(p).value) is int for p in places if isinstance(p, V))


def key_of(places: list[arrays.Index]) -> V:
    """The one argument that `__getitem__` gets."""
    values = [p if isinstance(p, V) else V(p) for p in places]
    return values[0] if len(values) == 1 else V(PyList(values, kind="tuple"))
