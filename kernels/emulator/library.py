"""Calls of the ops in emulated libraries: numpy arrays in, numpy arrays out."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from kernels.emulator.loading import Loader
from kernels.emulator.standins import NotEmulated

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
# Functions of the runtime that answer with a text.
_TEXTS = ("emulator_ops", "emulator_error", "emulator_missing", "emulator_observations")
_TENSOR, _INTEGER, _REAL, _NONE, _TEXT, _LIST = range(6)


class OpError(RuntimeError):
    """What the op threw: a failed check, or a device error."""


class MissingPart(OpError, NotEmulated):
    """What the op came to that the emulator does not have: nothing that the op did."""


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


class Library:
    """The runtime and the libraries of sources, loaded into this process.

    Only those are loaded that register one of `wanted`, and those that they need: what is loaded
    runs, and another source's trouble is not this op's. Libraries with ops of one name, for two
    kinds of hardware, are told apart by a `prefix`. `namesakes` is the `Loader`'s.
    """

    def __init__(
        self,
        runtime: Path,
        libraries: Mapping[Path, set[str]],
        wanted: set[str],
        prefix: str = "",
        *,
        namesakes: bool = False,
    ) -> None:
        self._prefix = prefix
        self._libraries = libraries
        self._told = ""
        self._loader = Loader(libraries, namesakes=namesakes)
        self._runtime = self._loader.load(runtime)
        self._runtime.emulator_register_with(prefix.encode())
        for path, ops in libraries.items():
            if ops & wanted:
                self._loader.load(path)
        for name in _TEXTS:
            getattr(self._runtime, name).restype = ctypes.c_char_p
        for name in ("emulator_result_rank", "emulator_result_integer"):
            getattr(self._runtime, name).restype = ctypes.c_int64
        for name in ("emulator_result_shape", "emulator_result_strides"):
            getattr(self._runtime, name).restype = ctypes.POINTER(ctypes.c_int64)
        self._runtime.emulator_result_real.restype = ctypes.c_double

    def load_op(self, op: str) -> bool:
        """Load the library that registers an op, unless it is there. False where none does."""
        for path, ops in self._libraries.items():
            if op in ops and not self._loader.has(path):
                self._loader.load(path)
                return True
        return False

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
            raise self.error(self._runtime.emulator_error().decode("utf-8", "replace"))
        return [self._result(index) for index in range(count)]

    def error(self, said: str) -> OpError:
        """The error of an op that came to no end, by what it `said` of it."""
        missing = self._ask_missing()
        self._told = missing or self._told
        return MissingPart(missing) if missing else OpError(said)

    def take_missing(self) -> str:
        """What ops came to that the emulator does not have, since this was asked before: an error
        that told of it may have been caught."""
        told, self._told = self._told, ""
        return self._ask_missing() or told

    def _ask_missing(self) -> str:
        return str(self._runtime.emulator_missing().decode("utf-8", "replace"))

    def set_schedule(self, seed: int) -> None:
        """The order of threads for ops that are not called from here."""
        self._runtime.emulator_set_seed(ctypes.c_uint64(seed))

    def check_types(self, *, wanted: bool) -> None:
        """Whether an op may read a tensor's numbers as those of another type."""
        self._runtime.emulator_check_types(int(wanted))

    def stand_ins(self) -> dict[str, str]:
        """The functions of another namespace that stand for what is declared and not defined."""
        return self._loader.stand_ins

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
        strides = self._runtime.emulator_result_strides(index)[:rank]
        in_bytes = [stride * array.itemsize for stride in strides]
        return HostTensor(np.lib.stride_tricks.as_strided(array, shape, in_bytes), dtype)


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
