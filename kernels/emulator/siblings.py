"""An op and its copy for other hardware, on the same inputs: both are loaded into one process."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np

from kernels.emulator.events import Events
from kernels.emulator.library import HostTensor, Library, OpError, OpSignature, Value
from kernels.emulator.recording import Call, load_call
from kernels.emulator.replaying import first_difference, show_inputs, size_of

# Each side runs so often: what is random, or depends on the order of threads, shows itself.
_SEEDS = (0, 1, 2)


class Agreement(StrEnum):
    """What came of one input."""

    AGREES = "agrees"
    DIFFERS = "differs"
    NOT_COMPARED = "not-compared"


class NotComparable(Exception):
    """An input that cannot be given to both sides, or on which a side has no one result."""


@dataclass(frozen=True)
class Comparison:
    """One input on both sides. `why` says why it was not compared.

    `expected` is the copy's value at `place`, `got` the op's own.
    """

    call: Call
    agreement: Agreement
    why: str = ""
    place: str = ""
    expected: str = ""
    got: str = ""


def run_siblings(job: dict[str, Any]) -> None:
    """Compare `job["op"]` with its copy on every recorded call, and then on variations of them."""
    # Hypothesis is imported by it.
    from kernels.emulator.variation import find_difference

    events = Events(Path(job["events"]))
    op = job["op"]
    try:
        pair = Pair(op, _library(job, "libraries", "own/"), _library(job, "copy", "copy/"))
    except (OSError, KeyError) as error:
        events.write({"event": "end", "why": str(error)[:300], "counts": {}})
        return
    calls = []
    counts: Counter[str] = Counter()
    for path in sorted(Path(job["calls"]).glob("*.npz")):
        call = load_call(path)
        if call.op != op or path.name in job["left_out"]:
            continue
        events.write({"event": "call", "call": path.name})
        comparison = pair.compare(call)
        counts[comparison.agreement] += 1
        events.write(_event(comparison, path.name))
        if comparison.agreement is not Agreement.NOT_COMPARED:
            calls.append(call)
    varied: Counter[str] = Counter()
    if calls and not counts[Agreement.DIFFERS] and job["variations"]:
        events.write({"event": "call", "call": ""})
        found = find_difference(pair, calls, job["variations"], varied)
        if found is not None:
            events.write(_event(found, ""))
    events.write({"event": "end", "why": "", "counts": counts, "varied": varied})


def _library(job: dict[str, Any], name: str, prefix: str) -> Library:
    libraries = {Path(path): set(ops) for path, ops in job[name].items()}
    return Library(Path(job["runtime"]), libraries, {job["op"]}, prefix)


def _event(comparison: Comparison, name: str) -> dict[str, Any]:
    return {
        "event": "compared",
        "call": name,
        "agreement": comparison.agreement,
        "why": comparison.why,
        "place": comparison.place,
        "expected": comparison.expected,
        "got": comparison.got,
        "size": size_of(comparison.call.values),
        "inputs": show_inputs(comparison.call),
    }


class Pair:
    """An op and its copy."""

    def __init__(self, op: str, own: Library, other: Library) -> None:
        self._op = op
        self._sides = ((own, own.ops()[op]), (other, other.ops()[op]))

    def compare(self, call: Call) -> Comparison:
        """The call on both sides: the first tensor that both have and that differs."""
        try:
            own, other = (self._result(*side, call) for side in self._sides)
        except NotComparable as error:
            return Comparison(call, Agreement.NOT_COMPARED, str(error))
        names = [name for name in own if name in other]
        if not names:
            return Comparison(call, Agreement.NOT_COMPARED, "no result is given back by both")
        for name in names:
            difference = _difference(name, own[name], other[name])
            if difference is not None:
                place, got, expected = difference
                return Comparison(call, Agreement.DIFFERS, "", place, expected, got)
        return Comparison(call, Agreement.AGREES)

    def _result(
        self, library: Library, signature: OpSignature, call: Call
    ) -> dict[str, HostTensor]:
        """Raises `NotComparable` where the side refuses the input or is not of one mind."""
        values = arrange(call, signature)
        names = signature.parameters or call.parameters
        results = [self._run(library, values, names, seed) for seed in _SEEDS]
        for seed, result in zip(_SEEDS[1:], results[1:], strict=True):
            for name, tensor in result.items():
                first = results[0][name]
                if first.array.shape != tensor.array.shape:
                    raise NotComparable(f"{name} is not the same each time")
                if first_difference(first, tensor, _SEEDS[0], seed) is not None:
                    raise NotComparable(f"{name} is not the same each time")
        return results[0]

    def _run(
        self, library: Library, values: Sequence[Value], names: Sequence[str], seed: int
    ) -> dict[str, HostTensor]:
        own = copy.deepcopy(list(values))
        try:
            results = library.call(self._op, own, seed)
        except OpError as error:
            raise NotComparable(f"refused: {str(error)[:200]}") from error
        tensors = {}
        for number, result in enumerate(results):
            if isinstance(result, HostTensor):
                tensors[f"result {number}"] = result
        for name, value in zip(names, own, strict=False):
            if isinstance(value, HostTensor):
                tensors[name] = value
        return tensors


def arrange(call: Call, signature: OpSignature) -> list[Value]:
    """The call's arguments in the order of another side's parameters.

    Raises `NotComparable` where a parameter is the other side's alone.
    """
    if not signature.parameters or not call.parameters:
        if signature.parameters and len(signature.parameters) != len(call.values):
            raise NotComparable("the numbers of parameters differ")
        return list(call.values)
    given: Mapping[str, Value] = dict(zip(call.parameters, call.values, strict=False))
    missing = [name for name in signature.parameters if name not in given]
    if missing:
        raise NotComparable(f"one side alone takes {', '.join(missing)}")
    return [given[name] for name in signature.parameters]


def _difference(name: str, own: HostTensor, other: HostTensor) -> tuple[str, str, str] | None:
    """Where, the op's own value, and the copy's."""
    if own.array.shape != other.array.shape:
        return f"{name}, shape", str(list(own.array.shape)), str(list(other.array.shape))
    if own.dtype != other.dtype:
        return f"{name}, type", own.dtype, other.dtype
    # What one side leaves unwritten is padding that no caller reads.
    place = first_difference(own, other, _SEEDS[0], _SEEDS[0], by_both=False)
    if place is None:
        return None
    where = f"{name}{list(place)}" if place else name
    return where, _text(own, place), _text(other, place)


def _text(tensor: HostTensor, place: tuple[int, ...]) -> str:
    value = tensor.array[place]
    if tensor.dtype == "bfloat16":
        return f"{(np.uint32(value) << 16).view(np.float32):.6g}"
    return str(value)
