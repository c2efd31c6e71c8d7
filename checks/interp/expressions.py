"""Expressions: operators, indexing, displays and comprehensions."""

from __future__ import annotations

from types import EllipsisType

from checks.interp import arrays, natives
from checks.interp.names import Names
from checks.interp.values import (
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
from checks.ir import expr as E


class Expressions(Names):
    """The value of an expression."""

    def spend(self) -> None:
        self.budget -= 1
        if self.budget < 0:
            raise GaveUp

    def eval(self, e: E.Expr) -> V:
        """The value of an expression."""
        self.spend()
        match e:
            case E.Const(value=value):
                return V(value)
            case E.Name(id=name):
                return self.lookup(name)
            case E.Attr(base=base, name=name):
                return self.attribute(self.eval(base), name)
            case E.Index(base=base, indices=indices):
                return self.item(self.eval(base), indices)
            case E.Call():
                return self.call_expr(e)
            case E.Unary():
                return self._unary(e)
            case E.Binary(op="and" | "or" as op, left=left, right=right):
                return self._logic(op, left, right)
            case E.Binary(op=op, left=left, right=right):
                return natives.binary(op, self.eval(left), self.eval(right))
            case E.Ternary(test=test, then=then, orelse=orelse):
                known = truth(self.eval(test))
                return ANY if known is None else self.eval(then if known else orelse)
            case E.Sequence(kind=kind, items=items):
                starred = any(isinstance(i, E.Unary) and i.op == "*" for i in items)
                return V(PyList(None if starred else [self.eval(i) for i in items], kind=kind))
            case E.Mapping(items=items):
                return self._mapping(items)
            case E.Comprehension():
                return self._comprehension(e)
            case _:
                return ANY

    def _unary(self, e: E.Unary) -> V:
        v = arrays.scalar(self.eval(e.operand))
        if e.op == "not":
            known = truth(v)
            return V(not known, v.origins) if known is not None else unknown(v)
        if isinstance(v.value, int | float) and not (e.op == "~" and isinstance(v.value, float)):
            value = {"-": lambda x: -x, "+": lambda x: x, "~": lambda x: ~x}.get(e.op)
            return V(value(v.value), v.origins) if value else unknown(v)
        return unknown(v)

    def _logic(self, op: str, left: E.Expr, right: E.Expr) -> V:
        first = self.eval(left)
        known = truth(first)
        if known is None:
            second = self.eval(right)
            decided = truth(second)
            stops = decided is not None and decided == (op == "or") and isinstance(second.value, bool)
            return second if stops else unknown(first, second)
        return self.eval(right) if known == (op == "and") else first

    def _mapping(self, items: tuple[tuple[E.Expr | None, E.Expr], ...]) -> V:
        made = PyDict({})
        for key, value in items:
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
        return V(PyList(made, source.value.length if isinstance(source.value, PyList) else source.origins))

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
                return self.call_function(getter, [key_of(places)], {}) if getter is not None else unknown(owner)
            case Array() as array:
                return arrays.view(array, places).also(owner.origins) if plain(places) else unknown(owner)
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
            parts = [arrays.scalar(p) if isinstance(p, V) else V(None) for p in (place.start, place.stop, place.step)]
            if any(p.value is not None and type(p.value) is not int for p in parts):
                return unknown(owner, *parts)
            cut = items[slice(*(p.value for p in parts))]
            return V(PyList(cut, length.union(*(p.origins for p in parts)), owner.value.kind), owner.origins)
        if not isinstance(place, V):
            return unknown(owner)
        index = arrays.scalar(place)
        if not isinstance(index.value, int):
            return unknown(owner, index)
        if not -len(items) <= index.value < len(items):
            detail = f"list index {index.value} out of range for length {len(items)}"
            raise Raised("IndexError", detail, length | index.origins)
        return items[index.value]


def plain(places: list[arrays.Index]) -> bool:
    """Only whole numbers and slices: anything else (masks, Ellipsis, lists) is advanced indexing."""
    return all(type(arrays.scalar(p).value) is int for p in places if isinstance(p, V))


def key_of(places: list[arrays.Index]) -> V:
    """The one argument that `__getitem__` gets."""
    values = [p if isinstance(p, V) else V(p) for p in places]
    return values[0] if len(values) == 1 else V(PyList(values, kind="tuple"))
