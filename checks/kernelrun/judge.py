"""From a process's journal and its outputs to the status of each case, held against the reference's outputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from checks.kernelrun.events import CaseProgress, Journal
from checks.kernelrun.model import WHOLE_OP, Case, Output, Reason, Status, Times
from checks.kernelrun.tensors import Array, Tensor, TensorError, difference

SURE = "sure"
Tensors = Mapping[str, Tensor]


@dataclass(frozen=True, slots=True)
class ProcessEnd:
    """How a process ended: by a signal, at the time limit (seconds), or with an exit code. `said` is the last line
    that it wrote to its standard error."""

    signal: int = 0
    limit: float = 0.0
    code: int = 0
    said: str = ""


@dataclass(frozen=True, slots=True)
class Standard:
    """What an op's cases ask for: tolerances, reference outputs and sizes by case, and the bytes per second of a large
    copy where it was measured. From a trusted process."""

    cases: Mapping[str, Mapping[str, float]]
    expected: Mapping[str, Tensors]
    failed: Mapping[str, str] = field(
        default_factory=dict
    )  # case to why its reference gave nothing
    sizes: Mapping[str, int] = field(default_factory=dict)  # bytes of a case's inputs and outputs
    bandwidth: float | None = None


@dataclass(frozen=True, slots=True)
class HarnessProcess:
    """What one harness process left behind. A case whose output file could not be read is not in `outputs`."""

    journal: Journal
    ending: ProcessEnd
    outputs: Mapping[str, Tensors]


def judge(op: str, law: Standard, process: HarnessProcess) -> tuple[Case, ...]:
    """Every case of the law, in its order; cases that the process made up are not looked at."""
    failed = process.journal.import_error
    if failed is not None:
        reason = Reason("import", {"error": failed})
        names = tuple(law.cases) or (WHOLE_OP,)
        return tuple(Case(op, name, Status.ERROR, reason) for name in names)
    if not law.cases:
        status, reason = _ended(process.ending)
        return (Case(op, WHOLE_OP, status, reason),)
    return tuple(_case(op, name, law, process) for name in law.cases)


def _case(op: str, name: str, law: Standard, process: HarnessProcess) -> Case:
    attempt = process.journal.attempts.get(name)
    if name in law.failed:
        return Case(op, name, Status.ERROR, Reason("reference", {"error": law.failed[name]}))
    if attempt is None or attempt.stage == "begun":
        return Case(op, name, *_stopped(name, attempt, process))
    if attempt.stage == "unsupported":
        return Case(op, name, Status.UNSUPPORTED, Reason("unsupported", {"error": attempt.error}))
    if attempt.stage == "lost":
        return Case(op, name, Status.CRASHED, Reason("lost", {"error": attempt.error}))
    if attempt.stage == "error":
        return Case(op, name, Status.ERROR, Reason("raised", {"error": attempt.error}))
    got, want = process.outputs.get(name), law.expected.get(name)
    if got is None:
        return Case(op, name, Status.ERROR, Reason("no-output"))
    if want is None:
        return Case(op, name, Status.ERROR, Reason("reference", {"error": ""}))
    return replace(
        _judged(op, name, got, want, law.cases[name], attempt), bytes=law.sizes.get(name)
    )


def _stopped(
    name: str, attempt: CaseProgress | None, process: HarnessProcess
) -> tuple[Status, Reason]:
    """A case that did not come to its end, because its process did first."""
    status, reason = _ended(process.ending)
    if attempt is not None:
        return status, reason
    for other, tried in process.journal.attempts.items():
        if tried.stage in ("begun", "lost"):
            return status if tried.stage == "begun" else Status.CRASHED, Reason(
                "not-reached", {"case": other}
            )
    return status, reason


def _ended(ending: ProcessEnd) -> tuple[Status, Reason]:
    if ending.limit:
        return Status.TIMEOUT, Reason("timeout", {"seconds": f"{ending.limit:g}"})
    if ending.signal:
        return Status.CRASHED, Reason("signal", {"signal": ending.signal})
    return Status.CRASHED, Reason("exit", {"code": ending.code, "said": ending.said})


def _judged(
    op: str,
    name: str,
    got: Tensors,
    want: Tensors,
    tolerance: Mapping[str, float],
    done: CaseProgress,
) -> Case:
    sure = want[SURE].array().astype(bool) if SURE in want else None
    found = tuple(
        _output(n, got.get(n), t, tolerance.get(n, 0.0), sure) for n, t in want.items() if n != SURE
    )
    outputs = tuple(output for output, _ in found if output is not None)
    wrong = max((status for _, (status, _) in found), key=list(Status).index, default=Status.OK)
    reason = next((reason for _, (status, reason) in found if status == wrong), None)
    errors = [o.max_error for o in outputs]
    largest = (
        None
        if None in errors or len(outputs) < len(found)
        else max((e for e in errors if e is not None), default=0.0)
    )
    times = Times(done.how, (done.seconds,)) if done.seconds else None
    return Case(op, name, wrong, reason, largest, outputs, times)


def _output(
    name: str, got: Tensor | None, want: Tensor, tolerance: float, sure: Array | None
) -> tuple[Output | None, tuple[Status, Reason | None]]:
    if got is None:
        return None, (Status.MISMATCH, Reason("missing", {"output": name}))
    output = Output(name, got.dtype, got.shape, got.digest, tolerance)
    if (got.dtype, got.shape) != (want.dtype, want.shape):
        form = {"output": name, "got": _form(got), "want": _form(want)}
        return output, (Status.MISMATCH, Reason("form", form))
    try:
        apart = difference(got, want, tolerance, sure)
    except TensorError:
        return output, (Status.ERROR, Reason("dtype", {"output": name, "dtype": got.dtype}))
    output = Output(name, got.dtype, got.shape, got.digest, tolerance, apart.largest)
    if apart.new_nan:
        return output, (Status.NAN, Reason("nan", {"output": name}))
    if not apart.beyond:
        return output, (Status.OK, None)
    largest = "" if apart.largest is None else f"{apart.largest:.3g}"
    shown = {
        "beyond": apart.beyond,
        "elements": apart.elements,
        "largest": largest,
        "tolerance": f"{tolerance:g}",
    }
    return output, (Status.MISMATCH, Reason("values", {"output": name, **shown}))


def _form(tensor: Tensor) -> str:
    return f"{tensor.dtype}{list(tensor.shape)}"


def merge_processes(runs: Sequence[tuple[Case, ...]]) -> Iterator[Case]:
    """The cases of several processes of the same code as one: the worst status, all times, the first outputs, and
    whether their bytes agree. All were judged by one law, so that each has the same cases."""
    for same in zip(*runs, strict=True):
        worst = max(same, key=lambda c: list(Status).index(c.status))
        digests = {tuple((o.name, o.sha256) for o in c.outputs) for c in same if c.outputs}
        measured = [c.times for c in same if c.times is not None]
        alike = len(measured) == len(same) and len({t.how for t in measured}) == 1
        times = (
            Times(measured[0].how, tuple(p for t in measured for p in t.processes))
            if alike
            else worst.times
        )
        yield Case(
            worst.op, worst.name, worst.status, worst.reason, worst.max_error, same[0].outputs or worst.outputs,
            times, len(digests) <= 1, worst.bytes,
        )  # fmt: skip
