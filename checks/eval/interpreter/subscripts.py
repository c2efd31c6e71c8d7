"""Subscripts: `owner[indices]`, read and written."""

from __future__ import annotations

from types import EllipsisType

from checks.eval.interpreter import arrays
from checks.eval.interpreter.frames import Interpretation
from checks.eval.interpreter.names import find_special_method
from checks.eval.interpreter.values import (
    SCALARS,
    Array,
    Instance,
    PyDict,
    PyList,
    SimulatedException,
    Value,
    unknown,
)
from checks.lang.ir import expr as E


def evaluate_indices(run: Interpretation, indices: tuple[E.Expr, ...]) -> list[arrays.ArrayIndex]:
    """What stands between the brackets; one tuple is spread, as Python does."""
    places = [_evaluate_index(run, index) for index in indices]
    match places:
        case [Value(value=PyList(items=list() as items, kind="tuple"))]:
            return [_unwrap(item) for item in items]
        case _:
            return places


def _evaluate_index(run: Interpretation, expr: E.Expr) -> arrays.ArrayIndex:
    if isinstance(expr, E.Slice):
        ends: list[Value | None] = []
        for end in (expr.lower, expr.upper, expr.step):
            ends.append(None if end is None else run.eval(end))
        return slice(*ends)
    if expr == E.Name("..."):
        return ...
    value = run.eval(expr)
    return value.value if isinstance(value.value, slice) else value


def _unwrap(value: Value) -> arrays.ArrayIndex:
    """An item of an index tuple, as it would stand between the brackets."""
    if isinstance(value.value, slice | EllipsisType):
        return value.value
    return value


def is_basic(places: list[arrays.ArrayIndex]) -> bool:
    """Only numbers and slices; anything else (masks, lists) is advanced indexing."""
    numbers = [arrays.scalar(place) for place in places if isinstance(place, Value)]
    return all(arrays.is_integer(number) for number in numbers)


def key_of(places: list[arrays.ArrayIndex]) -> Value:
    """The one argument that `__getitem__` gets."""
    values = [place if isinstance(place, Value) else Value(place) for place in places]
    if len(values) == 1:
        return values[0]
    return Value(PyList(values, kind="tuple"))


def get_item(run: Interpretation, owner: Value, indices: tuple[E.Expr, ...]) -> Value:
    """`owner[indices]`. Raises an IndexError or KeyError where that is certain."""
    places = evaluate_indices(run, indices)
    match owner.value:
        case Instance():
            getter = find_special_method(run, owner, "__getitem__")
            if getter is None:
                return unknown(owner)
            return run.call_function(getter, [key_of(places)], {})
        case Array() as array if is_basic(places):
            return arrays.view(array, places).with_origins(owner.origins)
        case PyList(items=list() as items) if len(places) == 1:
            return _get_list_item(owner, items, places[0])
        case PyDict() as mapping if len(places) == 1 and isinstance(places[0], Value):
            return _get_dict_item(owner, mapping, places[0])
        case _:
            return unknown(owner)


def _get_list_item(owner: Value, items: list[Value], place: arrays.ArrayIndex) -> Value:
    if isinstance(place, slice):
        return _slice_list(owner, items, place)
    if not isinstance(place, Value):
        return unknown(owner)
    index = arrays.scalar(place)
    if not isinstance(index.value, int):
        return unknown(owner, index)
    if not -len(items) <= index.value < len(items):
        detail = f"{owner.value.kind} index out of range"
        raise SimulatedException("IndexError", detail, owner.value.length | index.origins)
    return items[index.value]


def _slice_list(owner: Value, items: list[Value], place: slice) -> Value:
    ends: list[Value] = []
    for end in (place.start, place.stop, place.step):
        ends.append(arrays.scalar(end) if isinstance(end, Value) else Value(None))
    for end in ends:
        if end.value is not None and not arrays.is_integer(end):
            return unknown(owner, *ends)
    length = owner.value.length.union(*[end.origins for end in ends])
    start, stop, step = [end.value for end in ends]
    return Value(PyList(items[start:stop:step], length, owner.value.kind), owner.origins)


def _get_dict_item(owner: Value, mapping: PyDict, key: Value) -> Value:
    if not isinstance(key.value, SCALARS):
        return unknown(owner)
    if key.value in mapping.items:
        return mapping.items[key.value]
    if mapping.open:
        return unknown(owner)
    raise SimulatedException("KeyError", repr(key.value), key.origins | owner.origins)


def set_item(run: Interpretation, owner: Value, indices: tuple[E.Expr, ...], value: Value) -> None:
    """`owner[indices] = value`; where the place is not known, the whole owner becomes unknown."""
    match owner.value:
        case Instance():
            setter = find_special_method(run, owner, "__setitem__")
            if setter is not None:
                key = key_of(evaluate_indices(run, indices))
                run.call_function(setter, [key, value], {})
        case Array() as array:
            places = evaluate_indices(run, indices)
            if is_basic(places):
                arrays.assign(array, places, value)
            else:
                array.forget()
        case PyList(items=list() as items):
            index = run.eval(indices[0]).value
            if isinstance(index, int) and -len(items) <= index < len(items):
                items[index] = value
            else:
                owner.value.items = None
        case PyDict() as mapping:
            _set_dict_item(run, mapping, run.eval(indices[0]), value)


def _set_dict_item(run: Interpretation, mapping: PyDict, key: Value, value: Value) -> None:
    """`mapping[key] = value`; a new key that only some paths set may be there or not."""
    if not isinstance(key.value, SCALARS):
        mapping.items.clear()
        mapping.open = True
    elif run.is_certain or key.value in mapping.items:
        mapping.items[key.value] = value
    else:
        mapping.open = True
