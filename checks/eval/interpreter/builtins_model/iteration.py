"""What a loop over a value goes through."""

from __future__ import annotations

from checks.eval.interpreter.arrays import view
from checks.eval.interpreter.values import LARGEST, Array, Origins, PyDict, PyList, Value


def list_items(value: Value) -> list[Value] | None:
    """The items of something iterable, or None where they are not known."""
    match value.value:
        case PyList(items=items):
            return items
        case Array() as array if array.shape and array.dims[0] <= LARGEST:
            return [view(array, [Value(n)]) for n in range(array.dims[0])]
        case PyDict(items=items, open=False):
            return [Value(key) for key in items]
        case str() as text:
            return [Value(character) for character in text]
        case _:
            return None


def length_origins(value: Value) -> Origins:
    """The lines that decided how many items `value` has."""
    if isinstance(value.value, PyList):
        return value.value.length
    return value.origins
