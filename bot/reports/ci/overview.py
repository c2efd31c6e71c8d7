"""What the report is about, in sentences and in totals."""

from __future__ import annotations

from collections.abc import Iterator

from bot.i18n.catalog import Catalog
from bot.reports.blocks import Block, Heading, Items, Table, Text
from bot.reports.ci.phrasing import name
from checks.ci.model import Requirement, Status
from checks.ci.report import Cause, CIReport, FailedJob

_MOST_NAMES = 6
# Causes of a required task that speak against a merge, the strongest reason first. With any other
# cause a rerun decides.
_BLOCKS = (
    (Cause.THIS_PR, "mend"),
    (Cause.UNKNOWN, "unknown"),
    (Cause.CONSEQUENCE, "unknown"),
    (Cause.PERSON, "person"),
    (Cause.BASE, "base"),
)
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
    """What matters in a few sentences, and the totals."""
    yield Heading(2, words("ci.heading-overview"))
    sentences = (*_sentences(report, words), words(f"ci.merge-{_recommendation(report)}"))
    yield Text(_BETWEEN[words.language].join(sentences))
    totals = report.totals
    columns = {
        "total-runs": f"{totals.jobs + totals.reruns}({totals.reruns})",
        "total-jobs": str(totals.jobs),
        "total-passed": str(totals.passed),
        "total-failed": str(totals.failed),
        "total-running": str(totals.running),
        "total-waiting": str(totals.waiting),
        "total-skipped": str(totals.skipped),
    }
    header = tuple(words(f"ci.{key}") for key in columns)
    yield Table(header, (tuple(columns.values()),))


def _sentences(report: CIReport, words: Catalog) -> Iterator[str]:
    failed = [job for job in report.failed if job.job.failed]
    required = [job for job in failed if job.job.requirement is Requirement.REQUIRED]
    unknown = [job for job in failed if job.job.requirement is Requirement.UNKNOWN]
    if required:
        yield words("ci.says-failed", count=len(required), names=_names(required))
    elif unknown:
        yield words("ci.says-failed-unknown", count=len(unknown), names=_names(unknown))
    elif failed:
        yield words("ci.says-optional", count=len(failed))
    need_person = [job for job in required or unknown if job.main.cause is Cause.PERSON]
    if need_person:
        yield words("ci.says-person", count=len(need_person), names=_names(need_person))
    if report.missing:
        names = [name(missing.job) for missing in report.missing[:_MOST_NAMES]]
        yield words("ci.says-missing", count=len(report.missing), names=names)
    if failed or report.missing:
        return
    if report.running:
        yield words("ci.says-running", count=len(report.running))
    elif report.run.jobs:
        yield words("ci.says-passed")
    else:
        yield words("ci.says-nothing")


def _recommendation(report: CIReport) -> str:
    """Whether to merge, by what the required tasks show: the key of a sentence with the reason."""
    if not report.run.jobs:
        return "nothing"
    if not report.run.required_known:
        return "not-known"
    causes = set()
    for failed in report.failed:
        if failed.job.failed and failed.job.requirement is Requirement.REQUIRED:
            causes.add(failed.main.cause)
    for cause, key in _BLOCKS:
        if cause in causes:
            return key
    if causes:
        return "rerun"
    if report.missing:
        return "missing"
    required = [job for job in report.run.jobs if job.requirement is Requirement.REQUIRED]
    if any(job.status is not Status.COMPLETED for job in required):
        return "wait"
    return "yes"


def _names(failed: list[FailedJob]) -> list[str]:
    return [name(job.job) for job in failed[:_MOST_NAMES]]
