"""`results.json`, version 1: written, and read back with every field checked.

`bot/reports/schema/kernelrun-1.json` describes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from checks.kernelrun.events import LARGEST
from checks.kernelrun.model import (
    SCHEMA,
    CaseStatus,
    Confinement,
    KernelCase,
    KernelRunResult,
    Output,
    StatusReason,
    Times,
)
from checks.kernelrun.tensors import Tensor


class RunFileError(ValueError):
    """A results file that cannot be read: `where` names the field."""

    def __init__(self, where: str) -> None:
        super().__init__(where)
        self.where = where


Told = Callable[[StatusReason | None], Mapping[str, Any] | None]


def to_json(run: KernelRunResult, told: Told) -> dict[str, Any]:
    """The file's content.

    `told` gives a reason with its key, arguments and words; a reader goes by the first two.
    """
    return {
        "schema": SCHEMA,
        "versions": dict(run.versions),
        "device": dict(run.device),
        "harness": run.harness,
        "confinement": {
            "tool": run.confinement.tool,
            "files": run.confinement.files,
            "limits": dict(run.confinement.limits),
        },
        **({} if run.bandwidth is None else {"copy_bandwidth": run.bandwidth}),
        "cases": [_case(case, told) for case in run.cases],
    }


def _case(case: KernelCase, told: Told) -> dict[str, Any]:
    times = case.times
    return {
        "op": case.op,
        "case": case.name,
        "status": str(case.status),
        "reason": told(case.reason),
        "max_error": case.max_error,
        "repeatable": case.repeatable,
        **({} if case.bytes is None else {"bytes": case.bytes}),
        "times": None
        if times is None
        else {
            "how": times.how,
            "median_s": times.median,
            "iqr_s": times.iqr,
            "processes": [list(samples) for samples in times.processes],
        },
        "outputs": [
            {
                "name": o.name,
                "dtype": o.dtype,
                "shape": list(o.shape),
                "sha256": o.sha256,
                "tolerance": o.tolerance,
                "max_error": o.max_error,
            }
            for o in case.outputs
        ],
    }


def from_json(data: object, tensors: Mapping[str, Tensor]) -> KernelRunResult:
    """The run of a file's content. Raises RunFileError for anything that is not of this version."""
    top = _Reader(data, "results.json")
    if top.raw("schema") != SCHEMA:
        raise RunFileError("schema")
    held = top.inner("confinement")
    confinement = Confinement(held.text("tool"), held.of("files", bool), held.mapping("limits"))
    cases = tuple(_read_case(item) for item in top.items("cases"))
    told = top.mapping("versions"), top.mapping("device"), top.text("harness")
    return KernelRunResult(*told, confinement, cases, tensors, top.measure("copy_bandwidth", float))


class _Reader:
    """Typed access to a JSON object; every refusal names the place."""

    def __init__(self, data: object, where: str) -> None:
        if not isinstance(data, dict):
            raise RunFileError(where)
        self._data = data
        self._where = where

    def raw(self, name: str) -> Any:
        """Any value; an absent one is refused."""
        if name not in self._data:
            raise RunFileError(f"{self._where}.{name}")
        return self._data[name]

    def of(self, name: str, kind: type) -> Any:
        """A value of one type. A number may be written as an integer; True is no number."""
        value = self.raw(name)
        if isinstance(value, bool) and kind is not bool:
            raise RunFileError(f"{self._where}.{name}")
        if kind is float and isinstance(value, int):
            return _real(value, f"{self._where}.{name}")
        if not isinstance(value, kind):
            raise RunFileError(f"{self._where}.{name}")
        return value

    def text(self, name: str) -> str:
        """A string."""
        return str(self.of(name, str))

    def measure(self, name: str, kind: type) -> Any:
        """A number above zero that a device can come to, None where there is none: files of older
        runs.
        """
        if name not in self._data:
            return None
        value = self.of(name, kind)
        if not 0 < value < LARGEST:
            raise RunFileError(f"{self._where}.{name}")
        return value

    def number(self, name: str) -> float | None:
        """A number, or null."""
        return None if self.raw(name) is None else float(self.of(name, float))

    def mapping(self, name: str) -> dict[str, Any]:
        """An object of plain values."""
        value = self.of(name, dict)
        if not all(isinstance(v, str | bool | int | float) for v in value.values()):
            raise RunFileError(f"{self._where}.{name}")
        return dict(value)

    def inner(self, name: str) -> _Reader:
        """An object."""
        return _Reader(self.raw(name), f"{self._where}.{name}")

    def items(self, name: str) -> list[_Reader]:
        """A list of objects."""
        return [
            _Reader(item, f"{self._where}.{name}[{i}]")
            for i, item in enumerate(self.of(name, list))
        ]

    def numbers(self, name: str, kind: type) -> tuple[Any, ...]:
        """A list of numbers of one type."""
        value = self.of(name, list)
        return _numbers(value, kind, f"{self._where}.{name}")


def _numbers(value: Sequence[object], kind: type, where: str) -> tuple[Any, ...]:
    allowed = (int, float) if kind is float else (kind,)
    if not all(isinstance(v, allowed) and not isinstance(v, bool) for v in value):
        raise RunFileError(where)
    return tuple(_real(v, where) if kind is float else v for v in value)


def _real(value: Any, where: str) -> float:
    """A number as a float, if one can hold it: JSON's integers have no end."""
    try:
        return float(value)
    except OverflowError as error:
        raise RunFileError(where) from error


def _read_case(item: _Reader) -> KernelCase:
    try:
        status = CaseStatus(item.text("status"))
    except ValueError as error:
        raise RunFileError("status") from error
    reason = None if item.raw("reason") is None else item.inner("reason")
    times = None if item.raw("times") is None else item.inner("times")
    return KernelCase(
        item.text("op"),
        item.text("case"),
        status,
        None if reason is None else StatusReason(reason.text("key"), reason.mapping("args")),
        item.number("max_error"),
        tuple(_read_output(o) for o in item.items("outputs")),
        None if times is None else _read_times(times),
        item.of("repeatable", bool),
        item.measure("bytes", int),
    )


def _read_output(item: _Reader) -> Output:
    return Output(
        item.text("name"), item.text("dtype"), item.numbers("shape", int), item.text("sha256"),
        float(item.of("tolerance", float)), item.number("max_error"),
    )  # fmt: skip


def _read_times(item: _Reader) -> Times:
    where = "times.processes"
    processes = item.of("processes", list)
    if not processes or not all(isinstance(samples, list) and samples for samples in processes):
        raise RunFileError(where)
    return Times(item.text("how"), tuple(_numbers(samples, float, where) for samples in processes))
