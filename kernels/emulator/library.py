"""Calls of the ops in emulated libraries: numpy arrays in, numpy arrays out."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.generic]

# Paddle's numbers of types. bfloat16 and 8-bit floats travel as the integers of their bits.
DTYPES = {
    "bool": 1,
    "uint8": 2,
    "int8": 3,
    "uint16": 4,
    "int16": 5,
    "uint32": 6,
    "int32": 7,
    "uint64": 8,
    "int64": 9,
    "float32": 10,
    "float64": 11,
    "float16": 15,
    "bfloat16": 16,
    "float8_e4m3fn": 17,
}
# Of a tensor that an op left as it was made; frameworks give it back without elements.
_NO_TYPE = 0
_NAMES = {number: name for name, number in DTYPES.items()}
_STORAGE = {"bfloat16": "uint16", "float8_e4m3fn": "uint8"}
_TENSOR, _INTEGER, _REAL, _NONE, _TEXT, _LIST = range(6)


class OpError(RuntimeError):
    """What the op threw: a failed check, or a device error."""


@dataclass
class HostTensor:
    """An array with the type that the op is told; the op writes into the array."""

    array: Array
    dtype: str
    on_host: bool = False


class _Argument(ctypes.Structure):
    pass


_Argument._fields_ = [
    ("kind", ctypes.c_int32),
    ("dtype", ctypes.c_int32),
    ("data", ctypes.c_void_p),
    ("shape", ctypes.POINTER(ctypes.c_int64)),
    ("rank", ctypes.c_int64),
    ("integer", ctypes.c_int64),
    ("real", ctypes.c_double),
    ("text", ctypes.c_char_p),
    ("items", ctypes.POINTER(_Argument)),
    ("on_host", ctypes.c_int32),
]

Value = HostTensor | int | float | str | None | Sequence[object]


@dataclass(frozen=True)
class OpSignature:
    """An op's parameters, and those that it gives back where it returns nothing else."""

    parameters: tuple[str, ...]
    in_place: tuple[str, ...]


@dataclass(frozen=True)
class Observations:
    """What the launches since the last question showed."""

    launches: int
    barriers: tuple[str, ...]


_UNDEFINED = re.compile(r"undefined symbol: (\w+)")


class Library:
    """The runtime and the libraries of sources, loaded into this process.

    Only those are loaded that register one of `wanted`, and those that they need: what is loaded
    runs, and another source's trouble is not this op's. Libraries with ops of one name, for two
    kinds of hardware, are told apart by a `prefix`.
    """

    def __init__(
        self,
        runtime: Path,
        libraries: Mapping[Path, set[str]],
        wanted: set[str],
        prefix: str = "",
    ) -> None:
        self._prefix = prefix
        self._mode = os.RTLD_NOW | os.RTLD_GLOBAL
        self._runtime = ctypes.CDLL(str(runtime), mode=self._mode)
        self._loaded: dict[Path, ctypes.CDLL] = {}
        self._pending: set[Path] = set()
        self._libraries = libraries
        self._runtime.emulator_register_with(prefix.encode())
        for path, ops in libraries.items():
            if ops & wanted:
                self._load(path)
        for name in ("emulator_ops", "emulator_error", "emulator_observations"):
            getattr(self._runtime, name).restype = ctypes.c_char_p
        for name in ("emulator_result_rank", "emulator_result_integer"):
            getattr(self._runtime, name).restype = ctypes.c_int64
        self._runtime.emulator_result_shape.restype = ctypes.POINTER(ctypes.c_int64)
        self._runtime.emulator_result_real.restype = ctypes.c_double

    def load_op(self, op: str) -> bool:
        """Load the library that registers an op, unless it is there. False where none does."""
        for path, ops in self._libraries.items():
            if op in ops and path not in self._loaded:
                self._load(path)
                return True
        return False

    def _load(self, path: Path) -> None:
        """Load a library; one that lacks a symbol gets the libraries that may have it first."""
        tried: set[str] = set()
        while path not in self._loaded:
            try:
                self._loaded[path] = ctypes.CDLL(str(path), mode=self._mode)
            except OSError as error:
                missing = _UNDEFINED.search(str(error))
                if missing is None or missing[1] in tried:
                    raise
                tried.add(missing[1])
                self._load_definition(missing[1], path)

    def _load_definition(self, symbol: str, wanting: Path) -> None:
        """Load the library that defines a symbol, and before it those that it needs itself."""
        for path in self._libraries:
            if path in self._loaded or path == wanting or path in self._pending:
                continue
            if not _defines(path, symbol):
                continue
            self._pending.add(path)
            with suppress(OSError):
                self._load(path)
            self._pending.discard(path)
            return

    def ops(self) -> dict[str, OpSignature]:
        """Every op by name; no parameters are known of a plain function."""
        signatures = {}
        for line in self._runtime.emulator_ops().decode().splitlines():
            name, *names = line.split("\t")
            parameters = tuple(word for word in names if not word.startswith(">"))
            in_place = tuple(word[1:] for word in names if word.startswith(">"))
            if name.startswith(self._prefix):
                own_name = name.removeprefix(self._prefix)
                signatures[own_name] = OpSignature(parameters, in_place)
        return signatures

    def call(self, name: str, values: Sequence[Value], seed: int = 0) -> list[Value]:
        """The results of an op under the schedule `seed`. Raises `OpError`."""
        keep: list[object] = []
        arguments = _pack(values, keep)
        count = self._runtime.emulator_call(
            (self._prefix + name).encode(), arguments, len(values), ctypes.c_uint64(seed)
        )
        if count < 0:
            raise OpError(self._runtime.emulator_error().decode("utf-8", "replace"))
        return [self._result(index) for index in range(count)]

    def set_schedule(self, seed: int) -> None:
        """The order of threads for ops that are not called from here."""
        self._runtime.emulator_set_seed(ctypes.c_uint64(seed))

    def observations(self) -> Observations:
        """What was seen since this was asked before."""
        launches, *barriers = self._runtime.emulator_observations().decode().splitlines()
        return Observations(int(launches), tuple(barriers))

    def _result(self, index: int) -> Value:
        kind = self._runtime.emulator_result_kind(index)
        if kind == _INTEGER:
            return int(self._runtime.emulator_result_integer(index))
        if kind == _REAL:
            return float(self._runtime.emulator_result_real(index))
        rank = self._runtime.emulator_result_rank(index)
        shape = self._runtime.emulator_result_shape(index)[:rank]
        number = self._runtime.emulator_result_dtype(index)
        if number == _NO_TYPE:
            return HostTensor(np.empty(0, "float32"), "float32")
        dtype = _NAMES[number]
        array: Array = np.empty(shape, _STORAGE.get(dtype, dtype))
        self._runtime.emulator_result_copy(index, ctypes.c_void_p(array.ctypes.data))
        return HostTensor(array, dtype)


class Ops(Protocol):
    """What has ops that can be called."""

    def ops(self) -> dict[str, OpSignature]:
        """Every op by name."""

    def call(self, name: str, values: Sequence[Value], seed: int = 0) -> list[Value]:
        """The results of an op under the schedule `seed`. Raises `OpError`."""


def load_library(job: dict[str, Any]) -> Library:
    """The libraries that a job names, those that register its ops."""
    libraries = {Path(path): set(names) for path, names in job["libraries"].items()}
    return Library(Path(job["runtime"]), libraries, set(job["ops"]))


def load_ops(
    runtime: str,
    libraries: Mapping[str, Sequence[str]],
    modules: Collection[str],
    wanted: set[str],
    prefix: str = "",
) -> Ops:
    """The ops in `libraries` that are `wanted`; those in `modules` are pybind modules."""
    plain = {Path(path): set(ops) for path, ops in libraries.items() if path not in modules}
    library = Library(Path(runtime), plain, wanted, prefix)
    own = {path: ops for path, ops in libraries.items() if path in modules and wanted & set(ops)}
    if not own:
        return library
    # It imports PyTorch, which other ops do without.
    from kernels.emulator.torch_calls import ModuleOps

    return ModuleOps(library, own)


def _defines(path: Path, symbol: str) -> bool:
    """Whether a library defines a symbol; one that only names it needs it too."""
    if symbol.encode() not in path.read_bytes():
        return False
    said = subprocess.run(
        ["nm", "-D", "--defined-only", str(path)], capture_output=True, text=True, check=False
    )
    return any(line.split()[-1:] == [symbol] for line in said.stdout.splitlines())


def _pack(values: Sequence[object], keep: list[object]) -> ctypes.Array[_Argument]:
    """The arguments in C; what they point to stays alive in `keep`."""
    arguments = (_Argument * max(len(values), 1))()
    keep.append(arguments)
    for argument, value in zip(arguments, values, strict=False):
        _fill(argument, value, keep)
    return arguments


def _fill(argument: _Argument, value: object, keep: list[object]) -> None:
    match value:
        case HostTensor(array, dtype, on_host):
            shape = (ctypes.c_int64 * max(array.ndim, 1))(*array.shape)
            keep += [shape, array]
            argument.kind, argument.dtype = _TENSOR, DTYPES[dtype]
            argument.data, argument.shape = array.ctypes.data, shape
            argument.rank, argument.on_host = array.ndim, on_host
        case None:
            argument.kind = _NONE
        case bool() | int() | np.integer() | np.bool_():
            argument.kind, argument.integer = _INTEGER, int(value)
        case float() | np.floating():
            argument.kind, argument.real = _REAL, float(value)
        case str():
            text = value.encode()
            keep.append(text)
            argument.kind, argument.text = _TEXT, text
        case list() | tuple():
            argument.kind, argument.rank = _LIST, len(value)
            argument.items = _pack(value, keep)
        case _:
            raise TypeError(f"an op takes no {type(value).__name__}")
