"""What the report is about, in one sentence and in totals."""

from __future__ import annotations

from collections.abc import Iterator

from bot.i18n.catalog import Catalog
from bot.reports.blocks import Block, Heading, Items, Table, Text
from bot.reports.ci.phrasing import name
from checks.ci.model import Requirement
from checks.ci.report import Cause, CIReport, FailedJob

_MOST_NAMES = 6
# Between two sentences.
_BETWEEN = {"zh": "", "en": " "}


def opening(report: CIReport, words: Catalog) -> Iterator[Block]:
    """Which commits, and when."""
    run = report.run
    based = words("ci.based-head", head=run.revisions.head[:12])
    if run.revisions.merge:
        based += words("ci.based-merge", merge=run.revisions.merge[:12])
    if run.revisions.base:
        based += words("ci.based-base", base=run.revisions.base[:12], branch=run.pull.base_branch)
    yield Items((based, words("ci.collected", time=f"{run.collected:%Y-%m-%d %H:%M}")))


def overview(report: CIReport, words: Catalog) -> Iterator[Block]:
    """One sentence that says what matters, and the totals."""
    yield Heading(2, words("ci.heading-overview"))
    yield Text(_BETWEEN[words.language].join(_sentences(report, words)))
    totals = report.totals
    keys = (
        "total-runs",
        "total-jobs",
        "total-passed",
        "total-failed",
        "total-running",
        "total-waiting",
        "total-skipped",
    )
    header = tuple(words(f"ci.{key}") for key in keys)
    runs = f"{totals.jobs + totals.reruns}({totals.reruns})"
    counts = (
        totals.jobs,
        totals.passed,
        totals.failed,
        totals.running,
        totals.waiting,
        totals.skipped,
    )
    yield Table(header, ((runs, *map(str, counts)),))


def _sentences(report: CIReport, words: Catalog) -> Iterator[str]:
    failed = [f for f in report.failed if f.job.failed]
    required = [f for f in failed if f.job.requirement is Requirement.REQUIRED]
    unknown = [f for f in failed if f.job.requirement is Requirement.UNKNOWN]
    if required:
        yield words("ci.says-failed", count=len(required), names=_names(required))
    elif unknown:
        yield words("ci.says-failed-unknown", count=len(unknown), names=_names(unknown))
    elif failed:
        yield words("ci.says-optional", count=len(failed))
    if people := [f for f in required or unknown if f.main.cause is Cause.PERSON]:
        yield words("ci.says-person", count=len(people), names=_names(people))
    if report.missing:
        names = [name(m.job) for m in report.missing[:_MOST_NAMES]]
        yield words("ci.says-missing", count=len(report.missing), names=names)
    if failed or report.missing:
        return
    if report.running:
        yield words("ci.says-running", count=len(report.running))
    else:
        yield words("ci.says-passed" if report.run.jobs else "ci.says-nothing")


def _names(failed: list[FailedJob]) -> list[str]:
    return [name(f.job) for f in failed[:_MOST_NAMES]]
