"""The tables of tasks: required, optional, and those of which it is not known."""

from __future__ import annotations

from collections.abc import Iterator

from bot.i18n.catalog import Catalog
from bot.reports.blocks import Block, Heading, Table
from bot.reports.ci.phrasing import Level, advice, again, duration, links, name, root, state
from checks.ci.model import Job, Requirement
from checks.ci.report import CIReport, FailedJob, Missing, Running

_GROUPS = (
    (Requirement.REQUIRED, "required"),
    (Requirement.OPTIONAL, "optional"),
    (Requirement.UNKNOWN, "unknown"),
)
_KEYS = ("state", "task", "took", "root-cause", "suggestion", "log", "again")


def tasks(report: CIReport, words: Catalog, level: Level) -> Iterator[Block]:
    """A table for each group that has a task."""
    yield Heading(2, words("ci.heading-status"))
    for requirement, key in _GROUPS:
        jobs = [j for j in report.run.jobs if j.requirement is requirement]
        if not jobs:
            continue
        passed = sum(j.lets_merge for j in jobs)
        yield Heading(3, words(f"ci.heading-{key}", passed=passed, total=len(jobs)))
        yield _table(report, jobs, words, level)


def _table(report: CIReport, jobs: list[Job], words: Catalog, level: Level) -> Table:
    failed = {f.job.id: f for f in report.failed}
    missing = {m.job.id: m for m in report.missing}
    running = {r.job.id: r for r in report.running}
    told = [j for j in jobs if j.id in failed or j.id in missing or j.id in running]
    order = {id: n for n, id in enumerate([*failed, *missing, *running])}
    told.sort(key=lambda j: order[j.id])
    rows = [
        _row(j, failed.get(j.id), missing.get(j.id), running.get(j.id), words)
        for j in told[: level.rows]
    ]
    if len(told) > level.rows:
        rows.append(_count(words("ci.tasks-left-out", count=len(told) - level.rows)))
    rest = [j for j in jobs if j not in told]
    if fine := sum(j.passed for j in rest):
        rows.append(_count(words("ci.others-passed", count=fine), "✅"))
    if skipped := len(rest) - fine:
        rows.append(_count(words("ci.others-skipped", count=skipped), "⏭️"))
    return Table(tuple(words(f"ci.{key}") for key in _KEYS), tuple(rows))


def _count(text: str, sign: str = "") -> tuple[str, ...]:
    return (sign, text, "", "", "", "", "")


def _row(
    job: Job,
    failed: FailedJob | None,
    missing: Missing | None,
    running: Running | None,
    words: Catalog,
) -> tuple[str, ...]:
    why = what = ""
    took = duration(job.seconds, words)
    if failed is not None:
        why, what = root(failed.main, words), next(iter(advice(failed.main.suggestions, words)), "")
    elif missing is not None and missing.waited is not None:
        why = words("ci.missing-waited", time=duration(missing.waited, words))
    elif running is not None:
        took = duration(running.elapsed, words)
        why = _estimate(running, words)
    return (
        state(job, words),
        words.style.code(name(job)),
        took,
        why,
        what,
        links(job, words),
        again(job, words),
    )


def _estimate(running: Running, words: Catalog) -> str:
    if running.remaining is None:
        return words("ci.remaining-unknown")
    return words("ci.remaining", time=duration(running.remaining, words), runs=running.runs)
