"""Finds the model of a function that is not in the tree."""

from __future__ import annotations

from checks.eval.interpreter.builtins_model.array_libraries import (
    ARRAY_LIBRARIES,
    call_array_function,
)
from checks.eval.interpreter.builtins_model.functions import call_builtin
from checks.eval.interpreter.builtins_model.methods import call_method
from checks.eval.interpreter.values import Instance, Native, Value, unknown

_MOCKS = frozenset({"Mock", "MagicMock", "AsyncMock", "NonCallableMock"})


def call_native(native: Native, args: list[Value], words: dict[str, Value]) -> Value:
    """The result of a builtin, a method or a library function; unknown for what has no model."""
    module, _, name = native.name.rpartition(".")
    if native.self_ is not None:
        return call_method(native.self_, name, args)
    if not module:
        return call_builtin(name, args, words)
    if name in _MOCKS:
        return Value(Instance(None, dict(words), open=True))
    if name == "SimpleNamespace":
        return Value(Instance(None, dict(words)))
    if is_array_function(native):
        return call_array_function(name, args, words)
    return unknown(*args)


def is_array_function(native: Native) -> bool:
    """Whether `native` is a name of numpy, paddle or torch."""
    return native.name.partition(".")[0] in ARRAY_LIBRARIES
