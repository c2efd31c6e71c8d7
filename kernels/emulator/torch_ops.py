"""PyTorch's ops of a repository: loaded when they are asked for; which of them, and which Triton
kernels, were called."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import wraps
from typing import Any

import torch
from torch._ops import OpOverload, OpOverloadPacket

from kernels.emulator.library import Library
from kernels.emulator.session import SESSION
from kernels.emulator.standins import NotEmulated
from kernels.emulator.torch_calls import NotKept, in_order, parameters_of
from kernels.emulator.triton_kernels import op_name


class MissingOp(NotEmulated, AttributeError):
    """An op that is not there: `hasattr` is false, and a test that calls it is not run."""


def load_on_demand(library: Library, refusals: Mapping[str, str]) -> None:
    """Let `torch.ops` find the ops of `library`. `refusals` say why others are not there."""
    namespace = type(torch.ops.aten)
    known = namespace.__getattr__

    def find(self: Any, name: str) -> Any:
        try:
            return known(self, name)
        except AttributeError as error:
            if name.startswith("__"):
                raise
            why = refusals.get(name, "no source that was built registers it")
            try:
                if library.load_op(name):
                    return known(self, name)
            except OSError as unloadable:
                why = str(unloadable)
            raise MissingOp(f"op {self.name}.{name}: {why}") from error

    namespace.__getattr__ = find  # type: ignore[method-assign]


def note_calls() -> None:
    """Let `SESSION.called` have the name of every op that Python code calls."""
    _note(OpOverloadPacket, "__call__", lambda op: str(op.__name__))
    _note(OpOverload, "__call__", lambda op: str(op.overloadpacket.__name__))
    if importlib.util.find_spec("triton") is not None:
        from triton.runtime.interpreter import InterpretedFunction

        _note(InterpretedFunction, "run", lambda kernel: _kernel_name(kernel.fn))


def note_function(
    op: str, function: Callable[..., Any], values: Sequence[Any], named: Mapping[str, Any]
) -> None:
    """Keep the name of a module's function that is called now, and tell its arguments."""
    SESSION.called.add(op)
    if not SESSION.watchers:
        return
    parameters = parameters_of(function)
    SESSION.parameters[op] = parameters
    with suppress(NotKept):
        arguments = in_order(parameters, values, named)
        for watch in SESSION.watchers:
            watch(op, arguments, SESSION.calls)
        SESSION.calls += 1


def _kernel_name(function: Callable[..., Any]) -> str:
    file = function.__module__.replace(".", "/") + ".py"
    return op_name(file, function.__name__)


def _note(owner: type, method: str, name_of: Callable[[Any], str]) -> None:
    original = getattr(owner, method)

    @wraps(original)
    def call(self: Any, *arguments: Any, **named: Any) -> Any:
        SESSION.called.add(name_of(self))
        return original(self, *arguments, **named)

    setattr(owner, method, call)
