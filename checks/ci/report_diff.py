"""What changed between two reports of one pull request."""

from __future__ import annotations

from dataclasses import dataclass

from checks.ci.model import CIRun, Job, Status


@dataclass(frozen=True, slots=True)
class ReportDiff:
    """Names of jobs by what became of them.

    `head` is the last report's commit where it was another one.
    """

    head: str = ""
    failed: tuple[str, ...] = ()
    passed: tuple[str, ...] = ()
    finished: tuple[str, ...] = ()
    started: tuple[str, ...] = ()


def diff_runs(before: CIRun, now: CIRun) -> ReportDiff:
    """What changed from `before` to `now`.

    `failed`: fails now and did not fail before; `passed`: failed before; `finished`: passes now and
    was not over before; `started`: runs now and did not run before.
    """
    earlier = {_key(job): job for job in before.jobs}
    failed, passed, finished, started = [], [], [], []
    for job in now.jobs:
        # Without its event where it was the only job of its name.
        was = earlier.get(_key(job)) or earlier.get((job.workflow, job.name, ""))
        failed_before = was is not None and was.failed
        passed_before = was is not None and was.passed
        ran_before = was is not None and was.status is Status.IN_PROGRESS
        if job.failed and not failed_before:
            failed.append(job.name)
        if job.passed and failed_before:
            passed.append(job.name)
        if job.passed and not failed_before and not passed_before:
            finished.append(job.name)
        if job.status is Status.IN_PROGRESS and not ran_before:
            started.append(job.name)
    old_head = before.revisions.head
    return ReportDiff(
        head=old_head if old_head != now.revisions.head else "",
        failed=tuple(failed),
        passed=tuple(passed),
        finished=tuple(finished),
        started=tuple(started),
    )


def _key(job: Job) -> tuple[str, str, str]:
    return job.workflow, job.name, job.event
