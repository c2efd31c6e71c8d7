"""From a process's journal and its outputs to the status of each case.

The outputs are compared with those of the reference.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from checks.kernelrun.events import Journal
from checks.kernelrun.model import WHOLE_OP, CaseStatus, KernelCase, Output, StatusReason, Times
from checks.kernelrun.tensors import Array, Difference, Tensor, TensorError, difference

SURE = "sure"
"""A reference's output that is no result: it says which rows the reference is sure of."""
Tensors = Mapping[str, Tensor]
_WORST_LAST = list(CaseStatus)


@dataclass(frozen=True, slots=True)
class Excess:
    """A process was ended because it and what it started took more than `most` of something:
    `processes`, or `memory` in GiB.
    """

    what: str
    most: int


@dataclass(frozen=True, slots=True)
class ProcessEnd:
    """How a process ended: by a signal, at the time limit (seconds), with more than it may take, or
    with an exit code.

    `said` is the last line that it wrote to its standard error.
    """

    signal: int = 0
    limit: float = 0.0
    code: int = 0
    said: str = ""
    excess: Excess | None = None


@dataclass(frozen=True, slots=True)
class Standard:
    """What an op's cases are judged by: tolerances and reference outputs by case.

    It comes from a trusted process. `failed` says why a case's reference gave nothing; `sizes` are
    the bytes of a case's inputs and outputs; `bandwidth` is that of a large copy, in bytes per
    second, None where it was not measured.
    """

    cases: Mapping[str, Mapping[str, float]]
    expected: Mapping[str, Tensors]
    failed: Mapping[str, str] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)
    bandwidth: float | None = None


@dataclass(frozen=True, slots=True)
class HarnessProcess:
    """What one harness process left behind.

    A case whose output file could not be read is not in `outputs`.
    """

    journal: Journal
    ending: ProcessEnd
    outputs: Mapping[str, Tensors]


def judge(op: str, standard: Standard, process: HarnessProcess) -> tuple[KernelCase, ...]:
    """Every case of the standard, in its order. Cases that the process made up do not count."""
    import_error = process.journal.import_error
    if import_error is not None:
        reason = StatusReason("import", {"error": import_error})
        names = tuple(standard.cases) or (WHOLE_OP,)
        return tuple(KernelCase(op, name, CaseStatus.ERROR, reason) for name in names)
    if not standard.cases:
        status, reason = _status_of_end(process.ending)
        return (KernelCase(op, WHOLE_OP, status, reason),)
    return tuple(_judge_case(op, name, standard, process) for name in standard.cases)


def _judge_case(op: str, name: str, standard: Standard, process: HarnessProcess) -> KernelCase:
    if name in standard.failed:
        return _failed(op, name, "reference", standard.failed[name])
    progress = process.journal.attempts.get(name)
    if progress is None:
        status, reason = _status_of_unreached(process)
        return KernelCase(op, name, status, reason)
    match progress.stage:
        case "begun":
            status, reason = _status_of_end(process.ending)
            return KernelCase(op, name, status, reason)
        case "unsupported":
            reason = StatusReason("unsupported", {"error": progress.error})
            return KernelCase(op, name, CaseStatus.UNSUPPORTED, reason)
        case "lost":
            return KernelCase(
                op, name, CaseStatus.CRASHED, StatusReason("lost", {"error": progress.error})
            )
        case "error":
            return _failed(op, name, "raised", progress.error)
    got, want = process.outputs.get(name), standard.expected.get(name)
    if got is None:
        return KernelCase(op, name, CaseStatus.ERROR, StatusReason("no-output"))
    if want is None:
        return _failed(op, name, "reference", "")
    judged = _judge_outputs(op, name, got, want, standard.cases[name])
    times = Times(progress.how, (progress.seconds,)) if progress.seconds else None
    return replace(judged, times=times, bytes=standard.sizes.get(name))


def _failed(op: str, name: str, key: str, error: str) -> KernelCase:
    return KernelCase(op, name, CaseStatus.ERROR, StatusReason(key, {"error": error}))


def _status_of_unreached(process: HarnessProcess) -> tuple[CaseStatus, StatusReason]:
    """Of a case that was not begun: its process ended before, in another case if one is open."""
    status, reason = _status_of_end(process.ending)
    for other, progress in process.journal.attempts.items():
        if progress.stage == "begun":
            return status, StatusReason("not-reached", {"case": other})
        if progress.stage == "lost":
            return CaseStatus.CRASHED, StatusReason("not-reached", {"case": other})
    return status, reason


def _status_of_end(ending: ProcessEnd) -> tuple[CaseStatus, StatusReason]:
    if ending.limit:
        return CaseStatus.TIMEOUT, StatusReason("timeout", {"seconds": f"{ending.limit:g}"})
    if ending.excess:
        most = ending.excess.most
        return CaseStatus.CRASHED, StatusReason(f"excess-{ending.excess.what}", {"most": most})
    if ending.signal:
        return CaseStatus.CRASHED, StatusReason("signal", {"signal": ending.signal})
    return CaseStatus.CRASHED, StatusReason("exit", {"code": ending.code, "said": ending.said})


@dataclass(frozen=True, slots=True)
class _JudgedOutput:
    """An output with its status. `output` is None where the process did not give it."""

    output: Output | None
    status: CaseStatus
    reason: StatusReason | None = None


def _judge_outputs(
    op: str, name: str, got: Tensors, want: Tensors, tolerances: Mapping[str, float]
) -> KernelCase:
    sure_rows = want[SURE].array().astype(bool) if SURE in want else None
    judged = []
    for output_name, expected in want.items():
        if output_name != SURE:
            tolerance = tolerances.get(output_name, 0.0)
            actual = got.get(output_name)
            judged.append(_judge_output(output_name, actual, expected, tolerance, sure_rows))
    # The first of the worst, which is also the one whose reason is given.
    status, reason = CaseStatus.OK, None
    for item in judged:
        if _WORST_LAST.index(item.status) > _WORST_LAST.index(status):
            status, reason = item.status, item.reason
    outputs = tuple(item.output for item in judged if item.output is not None)
    all_given = len(outputs) == len(judged)
    return KernelCase(
        op=op,
        name=name,
        status=status,
        reason=reason,
        max_error=_largest_error(outputs) if all_given else None,
        outputs=outputs,
    )


def _largest_error(outputs: Sequence[Output]) -> float | None:
    """The largest difference from the reference, or None where one of them has no size."""
    largest = 0.0
    for output in outputs:
        if output.max_error is None:
            return None
        largest = max(largest, output.max_error)
    return largest


def _judge_output(
    name: str, got: Tensor | None, want: Tensor, tolerance: float, sure_rows: Array | None
) -> _JudgedOutput:
    if got is None:
        return _JudgedOutput(None, CaseStatus.MISMATCH, StatusReason("missing", {"output": name}))
    output = Output(name, got.dtype, got.shape, got.digest, tolerance)
    if (got.dtype, got.shape) != (want.dtype, want.shape):
        forms = {"output": name, "got": _form(got), "want": _form(want)}
        return _JudgedOutput(output, CaseStatus.MISMATCH, StatusReason("form", forms))
    try:
        measured = difference(got, want, tolerance, sure_rows)
    except TensorError:
        reason = StatusReason("dtype", {"output": name, "dtype": got.dtype})
        return _JudgedOutput(output, CaseStatus.ERROR, reason)
    output = replace(output, max_error=measured.largest)
    if measured.new_nan:
        return _JudgedOutput(output, CaseStatus.NAN, StatusReason("nan", {"output": name}))
    if measured.beyond:
        reason = _values_reason(name, measured, tolerance)
        return _JudgedOutput(output, CaseStatus.MISMATCH, reason)
    return _JudgedOutput(output, CaseStatus.OK)


def _values_reason(name: str, measured: Difference, tolerance: float) -> StatusReason:
    args = {
        "output": name,
        "beyond": measured.beyond,
        "elements": measured.elements,
        "largest": "" if measured.largest is None else f"{measured.largest:.3g}",
        "tolerance": f"{tolerance:g}",
    }
    return StatusReason("values", args)


def _form(tensor: Tensor) -> str:
    return f"{tensor.dtype}{list(tensor.shape)}"


def merge_processes(runs: Sequence[tuple[KernelCase, ...]]) -> Iterator[KernelCase]:
    """The cases of several processes of the same code, merged into one run.

    A case gets the worst status, all times, the first outputs, and whether their bytes agree. All
    runs were judged by one standard, so that each has the same cases.
    """
    for cases in zip(*runs, strict=True):
        worst = max(cases, key=lambda case: _WORST_LAST.index(case.status))
        digests = set()
        for case in cases:
            if case.outputs:
                digests.add(tuple((output.name, output.sha256) for output in case.outputs))
        yield replace(
            worst,
            outputs=cases[0].outputs or worst.outputs,
            times=_merge_times([case.times for case in cases], worst.times),
            repeatable=len(digests) <= 1,
        )


def _merge_times(all_times: Sequence[Times | None], fallback: Times | None) -> Times | None:
    """The times of all processes, or `fallback` where one has none or measured in another way."""
    measured = [times for times in all_times if times is not None]
    ways = {times.how for times in measured}
    if len(measured) < len(all_times) or len(ways) != 1:
        return fallback
    processes: list[tuple[float, ...]] = []
    for times in measured:
        processes += times.processes
    return Times(measured[0].how, tuple(processes))
