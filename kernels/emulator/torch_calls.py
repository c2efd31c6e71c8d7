"""Calls of functions on PyTorch's tensors in terms of arrays: kept, and made again."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch

from kernels.emulator.extension_modules import functions_of, load_module
from kernels.emulator.library import HostTensor, Library, Observations, OpSignature, Value

# Types that numpy does not have travel as the integers of their bits.
_BITS = {torch.bfloat16: torch.uint16, torch.float8_e4m3fn: torch.uint8}
_NAMED = {str(dtype).removeprefix("torch."): dtype for dtype in _BITS}
_PLAIN = (bool, int, float, str, type(None))
_PARAMETER = re.compile(r"(\w+): ")


class NotKept(Exception):
    """An argument that is no tensor, number, text, or list of those."""


def parameters_of(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names of a function's parameters, as pybind tells them; none of several overloads."""
    said = (function.__doc__ or "").partition("\n")[0]
    return tuple(_PARAMETER.findall(said.partition(" -> ")[0]))


def in_order(
    parameters: Sequence[str], values: Sequence[Any], named: Mapping[str, Any]
) -> list[Value]:
    """A call's arguments as arrays. Raises `NotKept` where they cannot be, or one is left out."""
    given = list(values)
    for name in parameters[len(values) : len(values) + len(named)]:
        if name not in named:
            raise NotKept(name)
        given.append(named[name])
    if len(given) != len(values) + len(named):
        raise NotKept("a name that is not known")
    return [to_host(value) for value in given]


def to_host(value: Any) -> Value:
    """A value in the form that calls are kept in: a tensor's array is its own memory."""
    if isinstance(value, torch.Tensor):
        return _host_tensor(value.detach())
    if isinstance(value, (list, tuple)):
        return [to_host(item) for item in value]
    if isinstance(value, _PLAIN):
        return value
    raise NotKept(type(value).__name__)


def _host_tensor(tensor: torch.Tensor) -> HostTensor:
    name = str(tensor.dtype).removeprefix("torch.")
    try:
        array = tensor.view(_BITS.get(tensor.dtype, tensor.dtype)).numpy()
    except (RuntimeError, TypeError) as error:
        raise NotKept(name) from error
    return HostTensor(array, name)


def to_torch(value: Any) -> Any:
    """The tensor on an array's memory; anything else as it is."""
    if isinstance(value, HostTensor):
        tensor = torch.from_numpy(value.array)
        return tensor.view(_NAMED.get(value.dtype, tensor.dtype))
    if isinstance(value, (list, tuple)):
        return [to_torch(item) for item in value]
    return value


class ModuleOps:
    """The functions of pybind modules as ops, besides those of `plain` libraries."""

    def __init__(self, plain: Library, libraries: Mapping[str, Iterable[str]]) -> None:
        self._plain = plain
        self._functions: dict[str, Callable[..., Any]] = {}
        for library, ops in libraries.items():
            self._functions |= functions_of(load_module(library), ops)

    def ops(self) -> dict[str, OpSignature]:
        """Every op by name."""
        own = {op: OpSignature(parameters_of(f), ()) for op, f in self._functions.items()}
        return self._plain.ops() | own

    def call(self, name: str, values: Sequence[Value], seed: int = 0) -> list[Value]:
        """The results of an op under the schedule `seed`. Raises `OpError`."""
        if name not in self._functions:
            return self._plain.call(name, values, seed)
        self._plain.set_schedule(seed)
        self._plain.take_missing()
        torch.manual_seed(0)
        # What nobody writes is then the same in every run. `use_deterministic_algorithms` does
        # this too, and imports PyTorch's compiler: as dear as PyTorch itself.
        torch.set_deterministic_debug_mode("warn")
        try:
            result = self._functions[name](*map(to_torch, values))
            return [to_host(item) for item in _flat(result)]
        except (RuntimeError, TypeError, NotKept) as error:
            raise self._plain.error(str(error)) from error

    def check_types(self, *, wanted: bool) -> None:
        """PyTorch's tensors check it always."""
        self._plain.check_types(wanted=wanted)

    def stand_ins(self) -> dict[str, str]:
        """The functions of another namespace that stand for what is declared and not defined."""
        return self._plain.stand_ins()

    def observations(self) -> Observations:
        """What was seen since this was asked before."""
        return self._plain.observations()


def _flat(result: Any) -> list[Any]:
    if result is None:
        return []
    return list(result) if isinstance(result, (list, tuple)) else [result]
