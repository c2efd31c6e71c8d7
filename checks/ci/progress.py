"""How far a run is: totals, required checks that never came, and how long the rest may take."""

from __future__ import annotations

from datetime import datetime
from statistics import median

from checks.ci.model import CIRun, Conclusion, Job, Requirement, Status
from checks.ci.report import Missing, Running, Totals

_WAITING = (Status.QUEUED, Status.WAITING, Status.EXPECTED)
_UNDER_WAY = (Status.IN_PROGRESS, Status.QUEUED, Status.WAITING)


def totals(run: CIRun) -> Totals:
    """Counts over all jobs of the run.

    A required job passes also where it was skipped or is neutral, as it does for GitHub.
    """
    required = [job for job in run.jobs if job.requirement is Requirement.REQUIRED]
    done = [job for job in run.jobs if job.status is Status.COMPLETED]
    not_run = (Conclusion.SKIPPED, Conclusion.STALE)
    return Totals(
        jobs=len(run.jobs),
        passed=sum(job.passed for job in done),
        failed=sum(job.failed for job in done),
        running=sum(job.status is Status.IN_PROGRESS for job in run.jobs),
        waiting=sum(job.status in _WAITING for job in run.jobs),
        skipped=sum(job.conclusion in not_run for job in done),
        reruns=sum(job.reruns for job in run.jobs),
        required=len(required) if run.required_known else None,
        required_passed=sum(job.lets_merge for job in required) if run.required_known else None,
    )


def missing(run: CIRun) -> tuple[Missing, ...]:
    """Required checks that have not reported at all."""
    begun = []
    for job in run.jobs:
        moment = job.queued or job.started
        if moment is not None:
            begun.append(moment)
    waited = _seconds(min(begun), run.collected) if begun else None
    return tuple(Missing(job, waited) for job in run.jobs if job.status is Status.EXPECTED)


def running(run: CIRun) -> tuple[Running, ...]:
    """Jobs that run or wait, each with an estimate by its past runs."""
    return tuple(_estimate(run, job) for job in run.jobs if job.status in _UNDER_WAY)


def _estimate(run: CIRun, job: Job) -> Running:
    """The estimate is the median of past runs that passed, None where there is none."""
    durations = []
    for past in run.history:
        is_whole_job = past.job == job.name and not past.test
        passed = past.conclusion is Conclusion.SUCCESS
        if is_whole_job and passed and past.seconds is not None:
            durations.append(past.seconds)
    elapsed = _seconds(job.started, run.collected) if job.started is not None else None
    remaining = None
    if durations:
        remaining = max(0, int(median(durations)) - (elapsed or 0))
    return Running(job, elapsed, remaining, len(durations))


def _seconds(start: datetime, end: datetime) -> int:
    return max(0, int((end - start).total_seconds()))
