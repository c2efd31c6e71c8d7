"""What changed between two reports of one pull request."""

from __future__ import annotations

from dataclasses import dataclass

from checks.ci.model import CIRun, Job, Status


@dataclass(frozen=True, slots=True)
class ReportDiff:
    """Names of tasks by what became of them. `head` is the commit of the last report where it was another one."""

    head: str = ""
    failed: tuple[str, ...] = ()
    passed: tuple[str, ...] = ()
    finished: tuple[str, ...] = ()
    started: tuple[str, ...] = ()


def since(before: CIRun, now: CIRun) -> ReportDiff:
    """`failed`: fails now and did not; `passed`: failed before; `finished`: passed and was not over; `started`."""
    old = {_key(j): j for j in before.jobs}
    pairs = [(j, old.get(_key(j))) for j in now.jobs]
    return ReportDiff(
        head=before.revisions.head if before.revisions.head != now.revisions.head else "",
        failed=tuple(j.name for j, was in pairs if j.failed and not (was and was.failed)),
        passed=tuple(j.name for j, was in pairs if j.passed and was is not None and was.failed),
        finished=tuple(
            j.name for j, was in pairs if j.passed and not (was and (was.failed or was.passed))
        ),
        started=tuple(
            j.name
            for j, was in pairs
            if j.status is Status.IN_PROGRESS and not (was and was.status is Status.IN_PROGRESS)
        ),
    )


def _key(job: Job) -> tuple[str, str]:
    return job.workflow, job.name
