"""What the interpreter knows of Python's builtins, arrays libraries and mocks. Anything else is unknown."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from checks.eval.interpreter import arrays
from checks.eval.interpreter.values import (
    ANY,
    LARGEST,
    NONE,
    UNKNOWN,
    Array,
    ClassRef,
    Instance,
    Native,
    PyDict,
    PyList,
    Raised,
    V,
    truth,
    unknown,
)

ARRAYS = frozenset({"numpy", "paddle", "torch"})
BUILTINS = frozenset(
    ["len", "range", "int", "float", "str", "bool", "list", "tuple", "dict", "set", "enumerate", "zip", "slice", "min", "max", "sum", "abs", "any", "all", "print", "hasattr", "getattr", "setattr", "isinstance", "sorted", "reversed", "round", "id", "type", "super", "map", "filter", "iter", "next", "open", "repr"]
)
MOCKS = frozenset({"Mock", "MagicMock", "AsyncMock", "NonCallableMock"})
SAME = frozenset(
    ["numpy", "cpu", "cuda", "clone", "copy", "detach", "contiguous", "to", "astype", "cast", "pin_memory", "float", "int", "long", "half", "bfloat16", "squeeze_", "type"]
)
SCALARS = (int, float, str, bool, type(None))

Keywords = dict[str, V]


def call(native: Native, args: list[V], words: Keywords) -> V:
    """The result of a modelled function; `ANY` for the rest. Raises `Raised` where Python certainly would."""
    root, _, name = native.name.rpartition(".")
    if native.self_ is not None:
        return method(native.self_, name, args, words)
    if not root:
        found = _BUILTIN.get(name)
        return found(args, words) if found else unknown(*args)
    if name in MOCKS:
        return V(Instance(None, dict(words), open=True))
    if name == "SimpleNamespace":
        return V(Instance(None, dict(words)))
    if root.split(".")[0] in ARRAYS:
        return _array(name, args, words)
    return unknown(*args)


def _array(name: str, args: list[V], words: Keywords) -> V:
    if name in ("zeros", "ones", "empty", "full"):
        return _filled(name, args, words)
    if (
        name in ("zeros_like", "ones_like", "empty_like", "full_like")
        and args
        and isinstance(args[0].value, Array)
    ):
        fill = (
            args[1]
            if name == "full_like" and len(args) > 1
            else V({"zeros_like": 0, "ones_like": 1}.get(name, UNKNOWN))
        )
        return V(Array.full(args[0].value.shape, fill))
    if name in ("to_tensor", "tensor", "array", "asarray", "from_numpy", "as_tensor"):
        return arrays.from_list(args[0]) if args else ANY
    if name == "arange":
        return _arange(args)
    if name == "reshape" and len(args) == 2 and isinstance(args[0].value, Array):
        dims = arrays.shape_of([args[1]])
        return arrays.reshape(args[0].value, dims) if dims is not None else unknown(*args)
    return unknown(*args)


def _filled(name: str, args: list[V], words: Keywords) -> V:
    given = words.get("shape", words.get("size"))
    fill = {"zeros": V(0), "ones": V(1)}.get(name, ANY)
    if name == "full":
        values = [*args, *(words[k] for k in ("fill_value",) if k in words)]
        fill = words.get("fill_value", values[-1] if values else ANY)
        args = args[:-1] if "fill_value" not in words and len(args) > 1 else args
    sizes = (
        [given] if given is not None else [a for a in args if not isinstance(a.value, str | Native)]
    )
    dims = arrays.shape_of(sizes[:1] if sizes and isinstance(sizes[0].value, PyList) else sizes)
    return (
        V(Array.full(tuple(dims), arrays.scalar(fill)))
        if dims is not None and sizes
        else unknown(*args)
    )


def _arange(args: list[V]) -> V:
    numbers = [arrays.scalar(a) for a in args if not isinstance(a.value, Native)]
    if not numbers or any(type(n.value) is not int for n in numbers):
        return unknown(*args)
    items = range(*(n.value for n in numbers[:3]))
    if len(items) > LARGEST:
        return unknown(*args)
    return arrays.from_list(
        V(PyList([V(i) for i in items], frozenset().union(*(n.origins for n in numbers))))
    )


def method(owner: V, name: str, args: list[V], words: Keywords) -> V:
    """A method of a modelled value."""
    match owner.value:
        case Array() as array:
            return _array_method(owner, array, name, args)
        case PyList() as items:
            return _list_method(items, name, args)
        case PyDict() as mapping:
            return _dict_method(mapping, name, args)
        case int() | float() if name in ("item", "tolist", "numpy", "astype", "clone"):
            return owner
        case str() if name in (
            "split",
            "strip",
            "lower",
            "upper",
            "startswith",
            "endswith",
            "join",
            "replace",
        ):
            return _string(owner, name, args)
        case _:
            return unknown(owner, *args)


def _array_method(owner: V, array: Array, name: str, args: list[V]) -> V:
    if name in SAME:
        return owner
    if name == "tolist":
        return arrays.to_list(array).also(owner.origins)
    if name == "item" and not args:
        return arrays.scalar(owner) if array.size == 1 else unknown(owner)
    if name in ("reshape", "view"):
        dims = arrays.shape_of(args)
        return (
            arrays.reshape(array, dims).also(owner.origins)
            if dims is not None
            else unknown(owner, *args)
        )
    if name in ("flatten", "ravel"):
        return arrays.reshape(array, [V(-1)])
    if name in ("fill_", "set_tensor", "set_value", "copy_", "fill") and args:
        arrays.fill(array, args[0])
        return NONE
    if name == "zero_":
        arrays.fill(array, V(0))
        return NONE
    if name in ("numel", "__len__"):
        return V(array.size)
    return unknown(owner, *args)


def _list_method(items: PyList, name: str, args: list[V]) -> V:
    known = items.items
    if known is None:
        return ANY
    if name == "append":
        known.append(args[0])
    elif (
        name == "extend"
        and args
        and isinstance(args[0].value, PyList)
        and args[0].value.items is not None
    ):
        known.extend(args[0].value.items)
    elif name == "pop" and not args:
        if not known:
            raise Raised("IndexError", "pop from empty list", items.length)
        return known.pop()
    elif name == "copy":
        return V(PyList(list(known), items.length, items.kind))
    elif name == "clear":
        known.clear()
    else:
        items.items = (
            None if name in ("insert", "remove", "sort", "reverse", "extend", "pop") else known
        )
        return ANY
    return NONE


def _dict_method(mapping: PyDict, name: str, args: list[V]) -> V:
    if name == "get" and args and isinstance(args[0].value, SCALARS):
        fallback = args[1] if len(args) > 1 else NONE
        return mapping.items.get(args[0].value, ANY if mapping.open else fallback)
    if name in ("keys", "values", "items") and not mapping.open:
        pairs = mapping.items.items()
        made = {
            "keys": [V(k) for k in mapping.items],
            "values": list(mapping.items.values()),
            "items": [V(PyList([V(k), v], kind="tuple")) for k, v in pairs],
        }
        return V(PyList(made[name]))
    if name in ("update", "pop", "clear", "setdefault", "popitem"):
        mapping.items.clear()
        mapping.open = True
    return ANY


def _string(owner: V, name: str, args: list[V]) -> V:
    if not all(isinstance(a.value, str) for a in args):
        return unknown(owner, *args)
    result = getattr(owner.value, name)(*(a.value for a in args))
    return V(PyList([V(r) for r in result]) if isinstance(result, list) else result, owner.origins)


def _len(args: list[V], _: Keywords) -> V:
    match args[0].value if len(args) == 1 else None:
        case PyList(items=list() as items, length=length):
            return V(len(items), length)
        case Array() as array if array.shape:
            return array.shape[0]
        case PyDict(items=items, open=False):
            return V(len(items))
        case str() as text:
            return V(len(text), args[0].origins)
    return unknown(*args)


def _range(args: list[V], _: Keywords) -> V:
    numbers = [arrays.scalar(a) for a in args]
    if not numbers or any(not isinstance(n.value, int) for n in numbers):
        return unknown(*args)
    items = range(*(n.value for n in numbers))
    if len(items) > LARGEST:
        return unknown(*args)
    return V(PyList([V(i) for i in items], frozenset().union(*(n.origins for n in numbers))))


def _number(kind: Callable[[Any], Any]) -> Callable[[list[V], Keywords], V]:
    def convert(args: list[V], _: Keywords) -> V:
        if not args:
            return V(kind())  # type: ignore[call-arg]
        value = arrays.scalar(args[0])
        if not isinstance(value.value, int | float | bool) or len(args) > 1:
            return unknown(*args)
        return V(kind(value.value), value.origins | args[0].origins)

    return convert


def _bool(args: list[V], _: Keywords) -> V:
    known = truth(args[0]) if args else False
    return (
        V(known, args[0].origins if args else frozenset()) if known is not None else unknown(*args)
    )


def sequence(v: V) -> list[V] | None:
    """The items of something iterable, or None where they are not known."""
    match v.value:
        case PyList(items=items):
            return items
        case Array() as array if array.shape and array.dims[0] <= LARGEST:
            return [arrays.view(array, [V(n)]) for n in range(array.dims[0])]
        case PyDict(items=items, open=False):
            return [V(k) for k in items]
        case str() as text:
            return [V(c) for c in text]
        case _:
            return None


def _listed(kind: str) -> Callable[[list[V], Keywords], V]:
    def make(args: list[V], _: Keywords) -> V:
        if not args:
            return V(PyList([], kind=kind))
        items = sequence(args[0])
        length = args[0].value.length if isinstance(args[0].value, PyList) else args[0].origins
        return V(PyList(None if items is None else list(items), length, kind))

    return make


def _enumerate(args: list[V], _: Keywords) -> V:
    items = sequence(args[0]) if len(args) == 1 else None
    if items is None:
        return unknown(*args)
    return V(PyList([V(PyList([V(n), item], kind="tuple")) for n, item in enumerate(items)]))


def _zip(args: list[V], _: Keywords) -> V:
    columns = [sequence(a) for a in args]
    known = [c for c in columns if c is not None]
    if len(known) < len(columns):
        return unknown(*args)
    return V(PyList([V(PyList(list(row), kind="tuple")) for row in zip(*known, strict=False)]))


def _reduce(name: str) -> Callable[[list[V], Keywords], V]:
    table: dict[str, Any] = {"min": min, "max": max, "sum": sum, "any": any, "all": all}
    function = table[name]

    def reduce(args: list[V], words: Keywords) -> V:
        items = sequence(args[0]) if len(args) == 1 else args
        if items is None or words or not items:
            return unknown(*args)
        values = [arrays.scalar(i) for i in items]
        if any(not isinstance(v.value, int | float) for v in values):
            return unknown(*args)
        return V(
            function([v.value for v in values]), frozenset().union(*(v.origins for v in values))
        )

    return reduce


def _abs(args: list[V], _: Keywords) -> V:
    return (
        V(abs(args[0].value), args[0].origins)
        if isinstance(args[0].value, int | float)
        else unknown(*args)
    )


def _dict(args: list[V], words: Keywords) -> V:
    return V(PyDict(dict(words), open=bool(args)))


def _isinstance(args: list[V], _: Keywords) -> V:
    match [a.value for a in args]:
        case [Instance(cls=ClassRef(cls=cls)), ClassRef(cls=wanted)] if cls == wanted:
            return V(True)
        case [value, Native(name=name, self_=None)] if name in _KINDS and value is not UNKNOWN:
            exact = not isinstance(value, Instance) or value.cls is None
            return V(_KINDS[name](value)) if exact else V(False)
        case [int() | float() | str() | None | PyList() | PyDict() | Array() | slice(), ClassRef()]:
            return V(False)
        case _:
            return ANY


_KINDS: dict[str, Callable[[Any], bool]] = {
    "int": lambda v: isinstance(v, int),
    "float": lambda v: isinstance(v, float),
    "str": lambda v: isinstance(v, str),
    "bool": lambda v: isinstance(v, bool),
    "slice": lambda v: isinstance(v, slice),
    "tuple": lambda v: isinstance(v, PyList) and v.kind == "tuple",
    "list": lambda v: isinstance(v, PyList) and v.kind == "list",
    "dict": lambda v: isinstance(v, PyDict),
}


def _slice(args: list[V], _: Keywords) -> V:
    parts = [None, *args] if len(args) == 1 else list(args)
    return V(slice(*parts))


def _print(args: list[V], words: Keywords) -> V:
    return NONE


_BUILTIN: dict[str, Callable[[list[V], Keywords], V]] = {
    "len": _len, "range": _range, "int": _number(int), "float": _number(float), "bool": _bool, "abs": _abs,
    "list": _listed("list"), "tuple": _listed("tuple"), "enumerate": _enumerate, "zip": _zip, "dict": _dict,
    "print": _print, "slice": _slice, "isinstance": _isinstance,
    **{n: _reduce(n) for n in ("min", "max", "sum", "any", "all")},
}  # fmt: skip

_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": operator.pow, "<<": operator.lshift, ">>": operator.rshift, "&": operator.and_,
    "|": operator.or_, "^": operator.xor, "==": operator.eq, "!=": operator.ne, "<": operator.lt,
    "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def binary(op: str, a: V, b: V) -> V:
    """`a op b` without the short-circuit operators; raises ZeroDivisionError where it is certain."""
    a, b = arrays.scalar(a), arrays.scalar(b)
    origins = a.origins | b.origins
    if op in ("is", "is-not"):
        return _identity(op, a, b)
    if op in ("in", "not-in"):
        return _member(op, a, b)
    if not a.known or not b.known:
        return V(UNKNOWN, origins)
    if isinstance(a.value, Array) or isinstance(b.value, Array):
        plain = all(isinstance(v.value, (*SCALARS, Array)) for v in (a, b))
        return (
            arrays.elementwise(a, b, lambda x, y: binary(op, x, y))
            if plain
            else V(UNKNOWN, origins)
        )
    if isinstance(a.value, PyList) or isinstance(b.value, PyList):
        return _lists(op, a, b)
    if not isinstance(a.value, SCALARS) or not isinstance(b.value, SCALARS) or op not in _BINARY:
        return V(UNKNOWN, origins)
    if op in ("**", "<<") and isinstance(b.value, int) and b.value > 512:
        return V(UNKNOWN, origins)
    try:
        return V(_BINARY[op](a.value, b.value), origins)
    except ZeroDivisionError as error:
        raise Raised("ZeroDivisionError", "division by zero", origins) from error
    except (TypeError, ValueError, OverflowError, ArithmeticError):
        return V(UNKNOWN, origins)


def _identity(op: str, a: V, b: V) -> V:
    if not a.known or not b.known:
        return unknown(a, b)
    if a.value is None or b.value is None or isinstance(a.value, bool) or isinstance(b.value, bool):
        open_ = any(isinstance(v.value, Native) for v in (a, b))
        return (
            unknown(a, b)
            if open_
            else V((a.value is b.value) == (op == "is"), a.origins | b.origins)
        )
    return unknown(a, b)


def _member(op: str, a: V, b: V) -> V:
    match b.value:
        case PyList(items=list() as items) if a.known and all(
            isinstance(i.value, SCALARS) for i in [a, *items]
        ):
            return V((a.value in [i.value for i in items]) == (op == "in"), a.origins)
        case PyDict(items=known, open=False) if isinstance(a.value, SCALARS):
            return V((a.value in known) == (op == "in"), a.origins)
    return unknown(a, b)


def _lists(op: str, a: V, b: V) -> V:
    match op, a.value, b.value:
        case "+", PyList(items=list() as x, kind=kind), PyList(items=list() as y):
            return V(PyList([*x, *y], a.value.length | b.value.length, kind))
        case "*", PyList(items=list() as x, kind=kind), int() as n if len(x) * max(n, 0) <= LARGEST:
            return V(PyList(x * n, a.value.length | b.origins, kind))
        case "*", int(), PyList():
            return _lists(op, b, a)
        case "==" | "!=", PyList(items=list() as x), PyList(items=list() as y):
            flat = [*x, *y]
            if all(isinstance(i.value, SCALARS) for i in flat):
                equal = [i.value for i in x] == [i.value for i in y]
                return V(equal == (op == "=="), frozenset().union(*(i.origins for i in flat)))
    return unknown(a, b)
