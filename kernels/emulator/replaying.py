"""Recorded calls made again: in several orders of threads, and against another side's results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kernels.emulator.events import Events
from kernels.emulator.forks import Beginning
from kernels.emulator.job_ops import Ops, load_ops
from kernels.emulator.library import HostTensor, MissingPart, OpError, Value
from kernels.emulator.recording import Call, load_call

# What a shown value has at most.
_SHOWN = 12
# Bytes on either side of a tensor, and what they are. An index that is wrong by a request's whole
# row of tokens stays within them.
_ROOM = 1 << 16
_ROOM_BYTE = 0xA5
FLOATS = ("float16", "float32", "float64", "bfloat16")


@dataclass(frozen=True)
class Outcome:
    """What a call gave: its results, and its arguments as it left them; or its error.

    `is_missing` says that the error is of the emulator: what the op gives nobody knows.
    """

    tensors: list[HostTensor]
    error: str = ""
    is_missing: bool = False


_DIED = Outcome([], "the process died")


def run_replay(job: dict[str, Any]) -> None:
    """Make each call of `job["calls"]` under the schedules of `job["seeds"]`.

    The first schedule's outcome is compared with the others', and with the file of the same name in
    `job["against"]` where there is one and the op still takes what it took when the call was
    recorded; it is written to `job["results"]`. What an op keeps from call to call is as if each
    was the first.
    """
    events = Events(Path(job["events"]))
    library = load_ops(job["runtime"], job["libraries"], job["modules"], set(job["ops"]))
    known = library.ops()
    results = Path(job["results"])
    results.mkdir(parents=True, exist_ok=True)
    beginning = Beginning(lambda asked: make_call(library, *asked))
    for path in sorted(Path(job["calls"]).glob("*.npz")):
        call = load_call(path)
        op = call.op
        if op not in known:
            continue
        events.write({"event": "call", "op": op, "call": path.name})
        seeds = job["seeds"]
        first = beginning.ask((call, seeds[0])) or _DIED
        save_outcome(results / path.name, first)
        for seed in seeds[1:] if first is not _DIED else ():
            if not compare(first, make_call(library, call, seed), seeds[0], seed):
                continue
            difference = compare(first, beginning.ask((call, seed)) or _DIED, seeds[0], seed)
            if difference:
                events.write(_event("race", call, difference, seed, path.name))
                break
        base = load_outcome(Path(job["against"]) / path.name) if job.get("against") else None
        if base is not None and known[op].parameters == call.parameters:
            events.write({"event": "against", "op": op, "call": path.name})
            difference = compare(base, first, 0, 0)
            if difference:
                events.write(_event("changed", call, difference, 0, path.name))
    events.write({"event": "end"})


def make_call(library: Ops, call: Call, seed: int) -> Outcome:
    """Call the op on a copy of the arguments."""
    own = Rooms().copy(call.values)
    try:
        with call.with_settings():
            results = library.call(call.op, own, seed)
    except OpError as error:
        return Outcome([], str(error), isinstance(error, MissingPart))
    tensors = [value for value in results if isinstance(value, HostTensor)]
    return Outcome([*tensors, *_tensors(own)])


class Rooms:
    """The memory around copies of tensors, filled with one byte.

    What an op writes beside a tensor would otherwise end this process, now or later, or not at all.
    """

    def __init__(self, byte: int = _ROOM_BYTE) -> None:
        self._byte = byte
        self._memories: list[np.ndarray] = []

    def copy(self, values: Sequence[Any]) -> list[Any]:
        """A copy of the arguments, with room around each tensor."""
        return [self._copy(value) for value in values]

    def are_whole(self) -> bool:
        """Whether nothing was written there."""
        return all(
            (memory[:_ROOM] == self._byte).all() and (memory[-_ROOM:] == self._byte).all()
            for memory in self._memories
        )

    def _copy(self, value: Any) -> Any:
        if isinstance(value, HostTensor):
            array, memory = _with_room(value.array, self._byte)
            self._memories.append(memory)
            return HostTensor(array, value.dtype, value.on_host)
        if isinstance(value, (list, tuple)):
            return self.copy(value)
        return value


def _with_room(array: np.ndarray, byte: int) -> tuple[np.ndarray, np.ndarray]:
    """A copy with the same order of dimensions in memory, and the memory that it lies in."""
    axes = sorted(range(array.ndim), key=lambda axis: -array.strides[axis])
    source = array.transpose(axes)
    memory = np.full(source.nbytes + 2 * _ROOM, byte, np.uint8)
    inner = memory[_ROOM : _ROOM + source.nbytes].view(source.dtype).reshape(source.shape)
    inner[...] = source
    return inner.transpose(np.argsort(axes)), memory


def _tensors(values: Sequence[Any]) -> list[HostTensor]:
    found = []
    for value in values:
        if isinstance(value, HostTensor):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found += _tensors(value)
    return found


def compare(first: Outcome, second: Outcome, first_seed: int, second_seed: int) -> str:
    """The first difference in one line, or nothing. Bytes that nobody wrote do not count."""
    if first.is_missing or second.is_missing:
        return ""
    if first.error or second.error:
        return (
            ""
            if first.error == second.error
            else f"{first.error or 'a result'} / {second.error or 'a result'}"
        )
    if len(first.tensors) != len(second.tensors):
        return f"{len(first.tensors)} / {len(second.tensors)} results"
    for number, (one, other) in enumerate(zip(first.tensors, second.tensors, strict=True)):
        if one.array.shape != other.array.shape:
            return f"tensor {number}: shape {list(one.array.shape)} / {list(other.array.shape)}"
        place = first_difference(one, other, first_seed, second_seed)
        if place is not None:
            return f"tensor {number}{list(place)}: {one.array[place]} / {other.array[place]}"
    return ""


def first_difference(
    one: HostTensor,
    other: HostTensor,
    first_seed: int,
    second_seed: int,
    *,
    by_both: bool = True,
) -> tuple[int, ...] | None:
    """Where two tensors of one shape differ first.

    What is unwritten by both does not count; with `by_both` false, what is unwritten by one.
    """
    first, second = _unwritten(one.array, first_seed), _unwritten(other.array, second_seed)
    unwritten = first & second if by_both else first | second
    differs = _differing(one, other) & ~unwritten
    if not differs.any():
        return None
    return tuple(int(index) for index in np.argwhere(differs)[0])


def _differing(one: HostTensor, other: HostTensor) -> np.ndarray:
    """Integers differ if they are not equal; a float may differ by what an order of a sum does."""
    if one.dtype not in FLOATS:
        return np.asarray(one.array != other.array)
    left, right = as_float(one), as_float(other)
    return ~np.isclose(left, right, rtol=2e-2, atol=1e-3, equal_nan=True)


def as_float(tensor: HostTensor) -> np.ndarray:
    """The numbers of a tensor of floats, in a type that numpy has."""
    if tensor.dtype == "bfloat16":
        return (tensor.array.astype(np.uint32) << 16).view(np.float32)
    return tensor.array.astype(np.float64)


def _unwritten(array: np.ndarray, seed: int) -> np.ndarray:
    poison = (0xCD ^ (seed * 0x35)) & 0xFF
    flat = np.ascontiguousarray(array)
    bytes_of = flat.view(np.uint8).reshape(*flat.shape, flat.itemsize) if flat.ndim else None
    if bytes_of is None:
        return np.zeros(array.shape, bool)
    return np.asarray((bytes_of == poison).all(axis=-1))


def _event(kind: str, call: Call, difference: str, seed: int, name: str) -> dict[str, Any]:
    return {
        "event": kind,
        "op": call.op,
        "difference": difference,
        "seed": seed,
        "call": name,
        "is_shown": call.is_shown,
        "size": size_of(call.values),
        "inputs": show_inputs(call),
    }


def size_of(values: Sequence[Value]) -> int:
    """The number of elements of all tensors."""
    return sum(tensor.array.size for tensor in _tensors(values))


def show_inputs(call: Call) -> list[list[str]]:
    """The arguments as a table: each parameter's name, or its number, and its value; and what was
    set in the environment."""
    names = call.parameters or tuple(str(number) for number in range(len(call.values)))
    shown = [[name, show(value)] for name, value in zip(names, call.values, strict=False)]
    return shown + [list(setting) for setting in call.settings.items()]


def show(value: Any) -> str:
    """An argument in one line."""
    if isinstance(value, HostTensor):
        array = value.array
        shown = array.reshape(-1)[:_SHOWN].tolist()
        more = ", ..." if array.size > _SHOWN else ""
        inner = ", ".join(f"{item:.4g}" if isinstance(item, float) else str(item) for item in shown)
        return f"{value.dtype}{list(array.shape)} [{inner}{more}]"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(show(item) for item in value[:4]) + "]"
    return str(value)


def save_outcome(path: Path, outcome: Outcome) -> None:
    """Write an outcome."""
    arrays = {f"t{number}": tensor.array for number, tensor in enumerate(outcome.tensors)}
    kinds = np.array([tensor.dtype for tensor in outcome.tensors] or [""])
    error = {"error": np.array(outcome.error), "is_missing": np.array(outcome.is_missing)}
    np.savez(path, kinds=kinds, **error, **arrays)


def load_outcome(path: Path) -> Outcome | None:
    """An outcome that was written; None where there is no such file."""
    if not path.is_file():
        return None
    with np.load(path, allow_pickle=False) as file:
        count = len([name for name in file.files if name.startswith("t")])
        tensors = [HostTensor(file[f"t{i}"], str(file["kinds"][i])) for i in range(count)]
        return Outcome(tensors, str(file["error"]), bool(file["is_missing"]))
