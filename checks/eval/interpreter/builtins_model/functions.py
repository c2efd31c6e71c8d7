"""Python's builtin functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from checks.eval.interpreter.arrays import scalar
from checks.eval.interpreter.builtins_model.iteration import length_origins, list_items
from checks.eval.interpreter.values import (
    LARGEST,
    NONE_VALUE,
    UNKNOWN,
    UNKNOWN_VALUE,
    Array,
    ClassRef,
    Instance,
    Native,
    PyDict,
    PyList,
    Value,
    join_origins,
    truth,
    unknown,
)

Keywords = dict[str, Value]
Model = Callable[[list[Value], Keywords], Value]

# The names of builtins; those without a model below give an unknown value.
BUILTIN_NAMES = frozenset(
    {
        *("len", "range", "int", "float", "str", "bool", "list", "tuple", "dict", "set", "slice"),
        *("enumerate", "zip", "min", "max", "sum", "abs", "any", "all", "print", "sorted", "round"),
        *("hasattr", "getattr", "setattr", "isinstance", "reversed", "id", "type", "super", "map"),
        *("filter", "iter", "next", "open", "repr"),
    }
)


def call_builtin(name: str, args: list[Value], words: Keywords) -> Value:
    """The result of the builtin function `name`."""
    model = _MODELS.get(name)
    if model is None:
        return unknown(*args)
    return model(args, words)


def _len(args: list[Value], _: Keywords) -> Value:
    if len(args) != 1:
        return unknown(*args)
    match args[0].value:
        case PyList(items=list() as items, length=length):
            return Value(len(items), length)
        case Array() as array if array.shape:
            return array.shape[0]
        case PyDict(items=items, open=False):
            return Value(len(items))
        case str() as text:
            return Value(len(text), args[0].origins)
        case _:
            return unknown(*args)


def _range(args: list[Value], _: Keywords) -> Value:
    numbers = [scalar(arg) for arg in args]
    if not numbers or not all(isinstance(number.value, int) for number in numbers):
        return unknown(*args)
    positions = range(*[number.value for number in numbers])
    if len(positions) > LARGEST:
        return unknown(*args)
    return Value(PyList([Value(n) for n in positions], join_origins(numbers)))


def _int(args: list[Value], _: Keywords) -> Value:
    return _convert_number(int, args)


def _float(args: list[Value], _: Keywords) -> Value:
    return _convert_number(float, args)


def _convert_number(convert: Callable[..., Any], args: list[Value]) -> Value:
    if not args:
        return Value(convert())
    number = scalar(args[0])
    if not isinstance(number.value, int | float) or len(args) > 1:
        return unknown(*args)
    return Value(convert(number.value), number.origins | args[0].origins)


def _bool(args: list[Value], _: Keywords) -> Value:
    if not args:
        return Value(False)
    known = truth(args[0])
    if known is None:
        return unknown(*args)
    return Value(known, args[0].origins)


def _list(args: list[Value], _: Keywords) -> Value:
    return _make_list("list", args)


def _tuple(args: list[Value], _: Keywords) -> Value:
    return _make_list("tuple", args)


def _make_list(kind: str, args: list[Value]) -> Value:
    if not args:
        return Value(PyList([], kind=kind))
    items = list_items(args[0])
    copied = None if items is None else list(items)
    return Value(PyList(copied, length_origins(args[0]), kind))


def _enumerate(args: list[Value], _: Keywords) -> Value:
    items = list_items(args[0]) if len(args) == 1 else None
    if items is None:
        return unknown(*args)
    return Value(PyList([_pair(Value(n), item) for n, item in enumerate(items)]))


def _pair(first: Value, second: Value) -> Value:
    return Value(PyList([first, second], kind="tuple"))


def _zip(args: list[Value], _: Keywords) -> Value:
    columns: list[list[Value]] = []
    for arg in args:
        items = list_items(arg)
        if items is None:
            return unknown(*args)
        columns.append(items)
    rows = [Value(PyList(list(row), kind="tuple")) for row in zip(*columns, strict=False)]
    return Value(PyList(rows))


def _min(args: list[Value], words: Keywords) -> Value:
    return _reduce(min, args, words)


def _max(args: list[Value], words: Keywords) -> Value:
    return _reduce(max, args, words)


def _sum(args: list[Value], words: Keywords) -> Value:
    return _reduce(sum, args, words)


def _any(args: list[Value], words: Keywords) -> Value:
    return _reduce(any, args, words)


def _all(args: list[Value], words: Keywords) -> Value:
    return _reduce(all, args, words)


def _reduce(function: Callable[[list[Any]], Any], args: list[Value], words: Keywords) -> Value:
    """`function` over the numbers of one iterable, or over the arguments."""
    items = list_items(args[0]) if len(args) == 1 else args
    if not items or words:
        return unknown(*args)
    numbers = [scalar(item) for item in items]
    if not all(isinstance(number.value, int | float) for number in numbers):
        return unknown(*args)
    return Value(function([number.value for number in numbers]), join_origins(numbers))


def _abs(args: list[Value], _: Keywords) -> Value:
    if not isinstance(args[0].value, int | float):
        return unknown(*args)
    return Value(abs(args[0].value), args[0].origins)


def _dict(args: list[Value], words: Keywords) -> Value:
    return Value(PyDict(dict(words), open=bool(args)))


def _slice(args: list[Value], _: Keywords) -> Value:
    if len(args) == 1:
        return Value(slice(None, args[0]))
    return Value(slice(*args))


def _print(args: list[Value], words: Keywords) -> Value:
    return NONE_VALUE


def _isinstance(args: list[Value], _: Keywords) -> Value:
    match [arg.value for arg in args]:
        case [Instance(cls=ClassRef(cls=cls)), ClassRef(cls=wanted)] if cls == wanted:
            return Value(True)
        case [value, Native(name=name, self_=None)] if name in _BUILTIN_TYPES:
            return _is_builtin(value, name)
        case [int() | float() | str() | None | PyList() | PyDict() | Array() | slice(), ClassRef()]:
            return Value(False)
        case _:
            return UNKNOWN_VALUE


def _is_builtin(value: Any, name: str) -> Value:
    """`isinstance(value, int)` and the like; an object of a class of the tree is none of these."""
    if value is UNKNOWN:
        return UNKNOWN_VALUE
    if isinstance(value, Instance) and value.cls is not None:
        return Value(False)
    return Value(_BUILTIN_TYPES[name](value))


_BUILTIN_TYPES: dict[str, Callable[[Any], bool]] = {
    "int": lambda v: isinstance(v, int),
    "float": lambda v: isinstance(v, float),
    "str": lambda v: isinstance(v, str),
    "bool": lambda v: isinstance(v, bool),
    "slice": lambda v: isinstance(v, slice),
    "tuple": lambda v: isinstance(v, PyList) and v.kind == "tuple",
    "list": lambda v: isinstance(v, PyList) and v.kind == "list",
    "dict": lambda v: isinstance(v, PyDict),
}

_MODELS: dict[str, Model] = {
    "len": _len,
    "range": _range,
    "int": _int,
    "float": _float,
    "bool": _bool,
    "abs": _abs,
    "list": _list,
    "tuple": _tuple,
    "enumerate": _enumerate,
    "zip": _zip,
    "dict": _dict,
    "print": _print,
    "slice": _slice,
    "isinstance": _isinstance,
    "min": _min,
    "max": _max,
    "sum": _sum,
    "any": _any,
    "all": _all,
}
