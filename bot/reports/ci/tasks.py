"""The tables of tasks: required, optional, and those of which it is not known."""

from __future__ import annotations

from collections.abc import Iterator

from bot.i18n.catalog import Catalog
from bot.reports.blocks import Block, Folded, Heading, Table, Text
from bot.reports.ci.phrasing import Level, advice, again, duration, links, name, root, state
from checks.ci.model import Job, Requirement, Status
from checks.ci.report import CIReport, FailedJob, Missing, Rerun, Running

_GROUPS = (
    (Requirement.REQUIRED, "required"),
    (Requirement.OPTIONAL, "optional"),
    (Requirement.UNKNOWN, "unknown"),
)
# Characters of a log's text in a cell.
_LONGEST = 60
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
        yield Text(words(f"ci.legend-{key}"))
        table = _table(report, jobs, words, level)
        if requirement is Requirement.OPTIONAL:
            # What does not block a merge is read by whoever asks for it.
            yield Folded(words("ci.optional-tasks"), (table,))
        else:
            yield table


def _table(report: CIReport, jobs: list[Job], words: Catalog, level: Level) -> Table:
    """A row for each job that failed, is missing or runs; all others are only counted."""
    failed = {item.job.id: item for item in report.failed}
    missing = {item.job.id: item for item in report.missing}
    running = {item.job.id: item for item in report.running}
    order = {job_id: rank for rank, job_id in enumerate([*failed, *missing, *running])}
    listed = sorted((job for job in jobs if job.id in order), key=lambda job: order[job.id])
    rows = []
    for job in listed[: level.rows]:
        own = failed.get(job.id), missing.get(job.id), running.get(job.id)
        rows.append(_row(job, *own, words))
    if len(listed) > level.rows:
        rows.append(_count_row(words("ci.tasks-left-out", count=len(listed) - level.rows)))
    others = [job for job in jobs if job.id not in order]
    passed = sum(job.passed for job in others)
    if passed:
        rows.append(_count_row(words("ci.others-passed", count=passed), "✅"))
    skipped = len(others) - passed
    if skipped:
        rows.append(_count_row(words("ci.others-skipped", count=skipped), "⏭️"))
    return Table(tuple(words(f"ci.{key}") for key in _KEYS), tuple(rows), cards=True)


def _count_row(text: str, sign: str = "") -> tuple[str, ...]:
    return (sign, text, "", "", "", "", "")


def _row(
    job: Job,
    failed: FailedJob | None,
    missing: Missing | None,
    running: Running | None,
    words: Catalog,
) -> tuple[str, ...]:
    why = suggestion = ""
    took = duration(job.seconds, words)
    if failed is not None:
        why = root(failed.main, words, _LONGEST)
        suggestions = advice(failed.main.suggestions, words, _LONGEST)
        suggestion = suggestions[0] if suggestions else ""
    elif missing is not None and missing.waited is not None:
        why = words("ci.missing-waited", time=duration(missing.waited, words))
    elif running is not None:
        took = duration(running.elapsed, words)
        why = _waits_for(job, words) or _estimate(running, words)
    # Where a rerun does not help, the link stands with the details only.
    rerun = failed is None or failed.main.rerun is Rerun.ONCE
    return (
        state(job, words),
        words.style.code(name(job)),
        took,
        why,
        suggestion,
        links(job, words),
        again(job, words, link=rerun),
    )


def _waits_for(job: Job, words: Catalog) -> str:
    """What a job waits for that has not begun: a person, or a machine."""
    if job.status is Status.WAITING:
        return words("ci.waits-approval")
    if job.status is Status.QUEUED and not job.runner and job.labels:
        return words("ci.waits-runner", labels=list(job.labels))
    return ""


def _estimate(running: Running, words: Catalog) -> str:
    if running.remaining is None:
        return words("ci.remaining-unknown")
    return words("ci.remaining", time=duration(running.remaining, words), runs=running.runs)
