"""What the parameters of a function are: buffers, dicts of buffers, or plain numbers."""

from __future__ import annotations

from checks.lang.ir.expr import Const, Expr, Index, Name, walk
from checks.lang.ir.source_file import Function
from checks.lang.ir.stmt import guarded_statements

_EXPRESSIONS = ("target", "value", "test", "iterable", "start", "stop")


def is_buffer(kind: str) -> bool:
    """Whether a C++ parameter of the type `kind` is a pointer or a tensor."""
    return any(mark in kind for mark in ("*", "Tensor", "["))


def find_dict_keys(function: Function) -> dict[str, set[str]]:
    """The parameters of a Python function that are dicts, with the keys that it reads."""
    params = {param.name for param in function.params}
    keys: dict[str, set[str]] = {}
    for guarded in guarded_statements(function.body):
        for attribute in _EXPRESSIONS:
            expr = getattr(guarded.stmt, attribute, None)
            if expr is not None:
                _add_keys(expr, params, keys)
    return keys


def _add_keys(expr: Expr, params: set[str], keys: dict[str, set[str]]) -> None:
    """Add every `param["key"]` in `expr`."""
    for inner in walk(expr):
        match inner:
            case Index(base=Name(id=name), indices=(Const(value=str(key)),)) if name in params:
                keys.setdefault(name, set()).add(key)
            case _:
                pass
