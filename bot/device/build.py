"""The libraries of one side's device sources."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bot.device.process import JobResult, Json, run_job
from bot.device.workspace import Workspace
from bot.errors import UserError
from bot.reports.device_run import SideBuild, SourceBuild

# Seconds without a source's end: the compiler itself is stopped a little earlier.
_SILENCE = 420.0


def build_side(
    workspace: Workspace,
    side: str,
    sources: Sequence[str],
    variant: str = "plain",
    label: str = "build",
    *,
    with_tests: bool = True,
    helpers: Sequence[str] = (),
) -> SideBuild:
    """Build the sources of `side`, and find the tests that import their ops unless nobody asks.

    Sources of what these tests import besides are built too, and `helpers`, but for the report.
    Raises `UserError` where this machine has no compiler.
    """
    root = workspace.side(side)
    folder = workspace.job(f"{label}-{side}-{variant}")
    job: Json = {
        "action": "build",
        "root": str(root),
        "sources": list(sources),
        "output": str(folder / "out"),
        "caches": [str(workspace.cache)],
        "variant": variant,
        "with_tests": with_tests,
        "helpers": list(helpers),
    }
    result = run_job(job, folder, _SILENCE)
    if result.of("no-compiler"):
        raise UserError("device-no-compiler")
    runtime = _runtime(result)
    builds = [_source_build(event) for event in result.of("source")]
    built = {build.path for build in builds}
    # A source that ended the compilation of all is the first that is missing.
    why = "" if result.finished else _end_of(result)
    builds += [SourceBuild(path, "", why, (), False) for path in sources if path not in built]
    for event in (*result.of("runtime"), *result.of("source"), *result.of("helper")):
        if event["compiled_now"] and variant != "covered":
            workspace.keep(Path(event["library"]))
    # The files that tell of the lines that were reached lie beside their objects, in this run.
    for pattern in ("*.gch",) if variant == "covered" else ("*.o", "*.gch"):
        for path in (folder / "out").glob(pattern):
            workspace.keep(path)
    tests = {event["path"]: tuple(event["ops"]) for event in result.of("test")}
    needs = {event["path"]: tuple(event["needs"]) for event in result.of("test")}
    built_helpers = tuple(_source_build(event) for event in result.of("helper"))
    compiler = result.of("compiler")[0]["version"]
    return SideBuild(
        side, root, compiler, runtime, variant, tuple(builds), tests, built_helpers, needs
    )


def _runtime(result: JobResult) -> str:
    events = result.of("runtime")
    if not events or not events[0]["library"]:
        reason = events[0]["refusal"] if events else _end_of(result)
        raise UserError("device-runtime", reason=reason)
    return str(events[0]["library"])


def _source_build(event: Json) -> SourceBuild:
    return SourceBuild(
        event["source"],
        event["library"],
        event["refusal"],
        tuple(event["ops"]),
        event["compiled_now"],
        event["interpreted"],
        tuple(event["modules"]),
    )


def _end_of(result: JobResult) -> str:
    last = result.said.strip().splitlines()[-1:] or [""]
    if result.limit:
        return f"no end after {result.limit:.0f} s"
    if result.signal:
        return f"ended by signal {result.signal}"
    return last[0][:300] or f"ended with code {result.code}"
