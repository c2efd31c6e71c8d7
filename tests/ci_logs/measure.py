"""How well the analysis does on the windows: key line, category, the same verdict in a full log,
"not this PR".

Cause is asked three times of each window: without the repository, with a change of an unrelated
module, and with one that touches the workflow, the image and the requirements. In the third a
failed set-up may be the change's own fault, so that only what no repository can cause may still be
called infrastructure.
"""

from __future__ import annotations

import io
import random
from dataclasses import dataclass
from datetime import timedelta
from functools import cache

from checks.ci.analyse import analyse
from checks.ci.classify import Scan, scan
from checks.ci.model import CIRun, Conclusion, Step
from checks.ci.report import Cause, Failure
from checks.core.change import ChangeSet
from tests.ci.runs import NOW, Files, change, job, run
from tests.ci_logs.windows import Window

_NOISE = (
    "[{a}/900] Building CUDA object csrc/CMakeFiles/ops.dir/kernel_{a}.cu.o",
    "tests/spec_decode/test_errors.py::test_out_of_memory_is_reported[{a}] PASSED",
    "tests/kernels/test_verify.py::test_illegal_memory_access_is_caught PASSED [ {a}%]",
    "INFO scheduler.py:{a}] accepted {a} of 7000 draft tokens, acceptance rate 0.6{a}, errors=0 failed=0",
    'csrc/verify.cu(12): warning #177-D: variable "x{a}" was declared but never referenced',
    "/usr/include/c++/12/bits/stl_algo.h:{a}:5: note: candidate expects 3 arguments, 2 provided",
    "  Downloading https://files.example.org/numpy-2.{a}-py3-none-any.whl (16 MB)",
    "WARNING: Retrying (Retry(total=4)) after connection broken by 'ReadTimeoutError(...)': /simple/x{a}/",
    "-- Looking for pthread_create in pthreads - not found",
    "DEBUG queue.py:{a}] connection closed by the client, 0 errors",
    "ptxas info    : Used {a} registers, used 1 barriers",
    "WARNING request {a} was preempted: not enough free blocks, recomputing",
    "tests/test_timeout.py::test_timeout_error_is_raised PASSED",
    "INFO baseline.py:{a}] logprobs match the baseline within tolerance",
    "npm warn deprecated inflight@1.0.{a}: this module is not supported",
    "remote: Counting objects: {a}% done, no conflict",
    "[ {a}%] Linking CXX shared library libops.so",
    "  warnings.warn('CUDA is not available, falling back to the CPU')",
    "{a} passed, 2 skipped, 1 xfailed in 12.10s",
    "tests/test_cli.py::test_segmentation_fault_message PASSED",
)
# Of the lines before a window there are so many sorts, of so many lines; a whole log has at most so
# many.
_LOGS, _BEFORE, _LONGEST = 8, 800, 3_000
_NOT_THIS_PR = (Cause.BASE, Cause.FLAKY, Cause.INFRASTRUCTURE)
_AFTER = (
    "Post job cleanup.",
    "[command]/usr/bin/git version",
    "git version 2.45.2",
    "Temporarily overriding HOME='/home/ci/_temp/a' before making global git config changes",
    "Cleaning up orphan processes",
)


@dataclass(frozen=True)
class Result:
    """`key`, `category`, `same`: right.

    `excused`, `wrongly`: verdicts of "not this PR", and those that are wrong.
    """

    window: Window
    key: bool
    category: bool
    same: bool
    excused: int
    wrongly: tuple[str, ...]


def text(window: Window) -> bytes:
    return ("\n".join(window.lines) + "\n").encode()


def noise(chance: random.Random, lines: int) -> list[str]:
    """Lines of a job that goes well, many of which look like failures."""
    return [chance.choice(_NOISE).format(a=chance.randrange(100)) for _ in range(lines)]


def full(window: Window, after: int = 60) -> bytes:
    """The window in a log of a whole job: noise before it, the clean-up after it, and GitHub's time
    stamps."""
    rest = [*_AFTER, *(f"  unchanged file {n}" for n in range(after))]
    lines = [*_before(random.Random(window.name).randrange(_LOGS)), *window.lines, *rest]
    stamped = (
        line if line[:2] == "20" and "T" in line[:20] else stamp + line
        for stamp, line in zip(_stamps(), lines, strict=False)
    )
    return ("\n".join(stamped) + "\n").encode()


@cache
def _before(seed: int) -> list[str]:
    return noise(random.Random(seed), _BEFORE)


@cache
def _stamps() -> list[str]:
    times = (NOW + timedelta(milliseconds=7 * n) for n in range(_LONGEST))
    return [time.strftime("%Y-%m-%dT%H:%M:%S.%f0Z ") for time in times]


def measure(window: Window) -> Result:
    """What the analysis makes of one window."""
    trimmed, whole = text(window), full(window)
    small, large = scan(io.BytesIO(trimmed)), scan(io.BytesIO(whole))
    found = {name: _main(window, trimmed, changed) for name, changed in _changes().items()}
    same = _verdict(small) == _verdict(large)
    excused = [name for name, main in found.items() if main.cause in _NOT_THIS_PR]
    true = {"not-pr": excused, "setup": [name for name in excused if name != "setup"]}.get(
        window.cause, []
    )
    return Result(
        window=window,
        key=small.top is not None and small.top.line.number in window.keys,
        category=_category(small) in window.categories,
        same=same
        and _said(found["unrelated"]) == _said(_main(window, whole, _changes()["unrelated"])),
        excused=len(excused),
        wrongly=tuple(name for name in excused if name not in true),
    )


def _category(found: Scan) -> str:
    return str(found.top.rule.category) if found.top is not None else "unknown"


def _verdict(found: Scan) -> tuple[str, str]:
    return (found.top.rule.name, found.top.line.text) if found.top is not None else ("", "")


def _main(window: Window, log: bytes, changed: ChangeSet | None) -> Failure:
    """What the report says first of the job."""
    return analyse(run_of(window), Files(log=log), changed).failed[0].main


def _said(main: Failure) -> tuple[str, ...]:
    return (
        main.category,
        main.cause,
        main.confidence,
        main.test,
        main.error,
        main.signature,
        main.rerun,
    )


def run_of(window: Window) -> CIRun:
    steps = (Step(1, window.step, conclusion=Conclusion.FAILURE),) if window.step else ()
    return run(job(steps=steps))


@cache
def _changes() -> dict[str, ChangeSet | None]:
    setup = change_of(".github/workflows/ci.yml", "docker/Dockerfile", "requirements.txt")
    return {"none": None, "unrelated": change_of("engine/other_module.py"), "setup": setup}


def change_of(*paths: str) -> ChangeSet:
    """A change that adds one line to each of `paths`."""
    return change(dict.fromkeys(paths, ""), dict.fromkeys(paths, "UNRELATED_VALUE = 1\n"))
