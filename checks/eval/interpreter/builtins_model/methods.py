"""Methods of modelled values: arrays, lists, dicts, strings and numbers."""

from __future__ import annotations

from checks.eval.interpreter import array_shapes, arrays
from checks.eval.interpreter.values import (
    NONE_VALUE,
    SCALARS,
    UNKNOWN_VALUE,
    Array,
    PyDict,
    PyList,
    SimulatedException,
    Value,
    unknown,
)

# Methods that give the same elements again, in another place or of another type.
_SAME_ELEMENTS = frozenset(
    {
        *("numpy", "cpu", "cuda", "clone", "copy", "detach", "contiguous", "to", "astype", "cast"),
        *("pin_memory", "float", "int", "long", "half", "bfloat16", "squeeze_", "type"),
    }
)
_ARRAY_WRITERS = frozenset({"fill_", "set_tensor", "set_value", "copy_", "fill"})
_SAME_NUMBER = frozenset({"item", "tolist", "numpy", "astype", "clone"})
_STRING_METHODS = frozenset(
    {"split", "strip", "lower", "upper", "startswith", "endswith", "join", "replace"}
)
# Methods without a model that leave their object as it is; after any other it is unknown.
_LIST_READERS = frozenset(
    {"index", "count", "copy", "isdisjoint", "issubset", "issuperset", "union"}
)
_DICT_READERS = frozenset({"get", "keys", "values", "items", "copy"})


def call_method(owner: Value, name: str, args: list[Value]) -> Value:
    """`owner.name(*args)`."""
    match owner.value:
        case Array() as array:
            return _call_array_method(owner, array, name, args)
        case PyList() as items:
            return _call_list_method(items, name, args)
        case PyDict() as mapping:
            return _call_dict_method(mapping, name, args)
        case int() | float() if name in _SAME_NUMBER:
            return owner
        case str() if name in _STRING_METHODS:
            return _call_string_method(owner, name, args)
        case _:
            return unknown(owner, *args)


def writes(owner: Value, name: str) -> bool:
    """Whether `owner.name(...)` may write into `owner`."""
    match owner.value:
        case Array():
            return _writes_in_place(name) and name not in _SAME_ELEMENTS
        case PyList():
            return name not in _LIST_READERS
        case PyDict():
            return name not in _DICT_READERS
        case _:
            return False


def forget_content(owner: Value) -> None:
    """Something that is not followed wrote into `owner`."""
    match owner.value:
        case Array() as array:
            array.forget()
        case PyList() as items:
            items.items = None
        case PyDict() as mapping:
            mapping.items.clear()
            mapping.open = True


def _call_array_method(owner: Value, array: Array, name: str, args: list[Value]) -> Value:
    if name in _SAME_ELEMENTS:
        return owner
    if name in _ARRAY_WRITERS and args:
        arrays.fill(array, args[0])
        return NONE_VALUE
    match name:
        case "tolist":
            return array_shapes.to_list(array).with_origins(owner.origins)
        case "item" if not args and array.size == 1:
            return arrays.scalar(owner)
        case "item" if not args:
            return unknown(owner)
        case "reshape" | "view":
            dims = array_shapes.dims_from_args(args)
            if dims is None:
                return unknown(owner, *args)
            return array_shapes.reshape(array, dims).with_origins(owner.origins)
        case "flatten" | "ravel":
            return array_shapes.reshape(array, [Value(-1)])
        case "zero_":
            arrays.fill(array, Value(0))
            return NONE_VALUE
        case "numel" | "__len__":
            return Value(array.size)
        case _:
            if _writes_in_place(name):
                array.forget()
            return unknown(owner, *args)


def _writes_in_place(name: str) -> bool:
    """Whether a method of an array writes into it, by the rule of PyTorch and Paddle."""
    return name in _ARRAY_WRITERS or (name.endswith("_") and not name.endswith("__"))


def _call_list_method(owner: PyList, name: str, args: list[Value]) -> Value:
    items = owner.items
    if items is None:
        return UNKNOWN_VALUE
    match name:
        case "append":
            items.append(args[0])
            return NONE_VALUE
        case "extend" if _has_known_items(args):
            items.extend(args[0].value.items)
            return NONE_VALUE
        case "pop" if not args:
            if not items:
                raise SimulatedException("IndexError", "pop from empty list", owner.length)
            return items.pop()
        case "copy":
            return Value(PyList(list(items), owner.length, owner.kind))
        case "clear":
            items.clear()
            return NONE_VALUE
        case "add" if all(isinstance(item.value, SCALARS) for item in (*items, *args)):
            if args[0].value not in [item.value for item in items]:
                items.append(args[0])
            return NONE_VALUE
    if name not in _LIST_READERS:
        owner.items = None
    return UNKNOWN_VALUE


def _has_known_items(args: list[Value]) -> bool:
    if not args or not isinstance(args[0].value, PyList):
        return False
    return args[0].value.items is not None


def _call_dict_method(mapping: PyDict, name: str, args: list[Value]) -> Value:
    if name == "get" and args and isinstance(args[0].value, SCALARS):
        return _get_entry(mapping, args)
    if not mapping.open:
        match name:
            case "keys":
                return Value(PyList([Value(key) for key in mapping.items]))
            case "values":
                return Value(PyList(list(mapping.items.values())))
            case "items":
                pairs = [PyList([Value(k), v], kind="tuple") for k, v in mapping.items.items()]
                return Value(PyList([Value(pair) for pair in pairs]))
    if name not in _DICT_READERS:
        mapping.items.clear()
        mapping.open = True
    return UNKNOWN_VALUE


def _get_entry(mapping: PyDict, args: list[Value]) -> Value:
    key = args[0].value
    if key in mapping.items:
        return mapping.items[key]
    if mapping.open:
        return UNKNOWN_VALUE
    return args[1] if len(args) > 1 else NONE_VALUE


def _call_string_method(owner: Value, name: str, args: list[Value]) -> Value:
    if not all(isinstance(arg.value, str) for arg in args):
        return unknown(owner, *args)
    result = getattr(owner.value, name)(*[arg.value for arg in args])
    if isinstance(result, list):
        return Value(PyList([Value(part) for part in result]), owner.origins)
    return Value(result, owner.origins)
