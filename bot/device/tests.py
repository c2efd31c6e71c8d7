"""The repository's tests of ops, a process for each file."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial

from bot.device import LONGEST_TEST
from bot.device.process import JobResult, Json, run_job
from bot.device.workspace import Workspace
from bot.reports.device_run import (
    FAILED,
    NOT_RUN,
    PASSED,
    PROCESS,
    TOO_SLOW,
    CaseResult,
    SanitizerError,
    SideBuild,
)

# A process that dies of a case is started again without it, so often.
_MOST_DEATHS = 4
_ASAN = re.compile(r"==\d+==ERROR: AddressSanitizer: (.*)")
_UBSAN = re.compile(r"([^\s:]+\.\w+:\d+):\d+: runtime error: (.*)")
_FRAME = re.compile(r"#\d+ 0x[0-9a-f]+ in (.+?)(?:\(.*)? ([\w./-]+\.(?:cu|cuh|h|hpp)):(\d+)")
# Addresses are others each time: base's error would not be known again.
_ADDRESS = re.compile(r" on (?:unknown )?address.*")


@dataclass(frozen=True, slots=True)
class FileResult:
    """A test file's cases; `barriers` are divergences seen, by op; `sanitizers` what they said, of
    each process one error."""

    file: str
    cases: tuple[CaseResult, ...]
    barriers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    sanitizers: tuple[SanitizerError, ...] = ()


@dataclass(frozen=True, slots=True)
class TestPlan:
    """Which files are run: `tests` has them, `build` the device code; `record` keeps calls
    there."""

    __test__ = False

    workspace: Workspace
    tests: SideBuild
    build: SideBuild
    label: str
    seed: int = 0
    record: bool = False
    # Seconds for one case, start of the process included.
    longest: float = LONGEST_TEST
    # Of one test function, taken evenly; 0 is all.
    most_cases: int = 0


def run_files(
    plan: TestPlan, files: Mapping[str, Iterable[str]], tick: Callable[[str], None]
) -> list[FileResult]:
    """Run the test files (with the ops that each imports), as many at once as there are cores."""
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        results = []
        for result in pool.map(partial(_run_file, plan), files, files.values()):
            tick(result.file)
            results.append(result)
    return results


def _run_file(plan: TestPlan, file: str, ops: Iterable[str]) -> FileResult:
    """All of a file's cases: where a process dies of one, those behind it are run in another."""
    cases: dict[str, CaseResult] = {}
    barriers: dict[str, tuple[str, ...]] = {}
    errors: list[SanitizerError] = []
    for attempt in range(_MOST_DEATHS + 1):
        result = _run_once(plan, file, ops, sorted(cases), attempt)
        cases |= _cases(file, result)
        barriers |= _barriers(result)
        error = sanitizer_error(result.said)
        errors += [error] if error is not None else []
        collected = {str(case) for event in result.of("collected") for case in event["cases"]}
        if result.finished or result.limit or collected <= cases.keys():
            break
    return FileResult(file, tuple(cases.values()), barriers, tuple(errors))


def _run_once(
    plan: TestPlan, file: str, ops: Iterable[str], left_out: Sequence[str], attempt: int
) -> JobResult:
    name = re.sub(r"\W+", "-", file)
    again = f"-{attempt}" if attempt else ""
    folder = plan.workspace.job(f"{plan.label}-{plan.seed}-{name}{again}")
    build = plan.build
    job: Json = {
        "action": "test",
        "root": str(plan.tests.root),
        "test": file,
        "ops": list(ops),
        "needs": list(plan.tests.needs.get(file, ())),
        "runtime": build.runtime,
        "libraries": build.libraries,
        "refusals": build.refusals,
        "modules": build.modules,
        "seed": plan.seed,
        "variant": build.variant,
        "most_cases": plan.most_cases,
        "left_out": list(left_out),
    }
    if plan.record:
        job["record"] = str(folder / "out" / "calls")
    return run_job(job, folder, plan.longest)


def _cases(file: str, result: JobResult) -> dict[str, CaseResult]:
    """What came of each case of a process, the one among them that it died of."""
    cases: dict[str, CaseResult] = {}
    running = ""
    for event in result.events:
        if event.get("event") == "start":
            running = str(event.get("case"))
        elif event.get("event") == "case":
            case = _case(file, event)
            cases.setdefault(case.name, case)
            running = ""
    if not result.finished:
        why = _death(result)
        name = running or "the whole file"
        kind = TOO_SLOW if result.limit else PROCESS
        cases[name] = CaseResult(file, name, FAILED, why, kind)
    return cases


def _barriers(result: JobResult) -> dict[str, tuple[str, ...]]:
    """The divergences that a process saw, each once, by op."""
    barriers: dict[str, tuple[str, ...]] = {}
    for event in result.of("end"):
        for op, texts in dict(event.get("barriers", {})).items():
            barriers[op] = tuple(dict.fromkeys(texts))
    return barriers


def _case(file: str, event: Json) -> CaseResult:
    outcome = event.get("outcome")
    return CaseResult(
        file,
        str(event.get("case")),
        outcome if outcome in (PASSED, NOT_RUN) else FAILED,
        str(event.get("why", "")),
        str(event.get("kind", "")),
        int(event.get("line", 0)),
        float(event.get("seconds", 0.0)),
        tuple(map(str, event.get("ops", ()))),
    )


def _death(result: JobResult) -> str:
    if result.limit:
        return f"took more than {result.limit:.0f} s"
    if result.too_large:
        return "wrote too much"
    if result.signal:
        return f"the process was ended by signal {result.signal}"
    return f"the process ended with code {result.code} before its tests were done"


def sanitizer_error(said: str) -> SanitizerError | None:
    """The first error in what a process said that is not the emulator's own."""
    address = _ASAN.search(said)
    if address is not None:
        what = _ADDRESS.sub("", address[1])
        for frame in _FRAME.finditer(said, address.end()):
            if "runtime/" not in frame[2] and "emulator/" not in frame[2]:
                return SanitizerError(f"{what} in {frame[1]}", frame[2], int(frame[3]))
        return SanitizerError(what, "", 0)
    undefined = _UBSAN.search(said)
    if undefined is None or "emulator/" in undefined[1]:
        return None
    path, _, line = undefined[1].rpartition(":")
    return SanitizerError(undefined[2], path, int(line))
