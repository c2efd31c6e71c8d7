"""How far a run is: totals, required checks that never came, and how long the rest may take."""

from __future__ import annotations

from datetime import datetime
from statistics import median

from checks.ci.model import CIRun, Conclusion, Job, Requirement, Status
from checks.ci.report import Missing, Running, Totals

_WAITING = (Status.QUEUED, Status.WAITING, Status.EXPECTED)


def totals(run: CIRun) -> Totals:
    """Counts over every job of the run; a required job passes also when it is skipped or neutral, as for GitHub."""
    required = [j for j in run.jobs if j.requirement is Requirement.REQUIRED]
    done = [j for j in run.jobs if j.status is Status.COMPLETED]
    return Totals(
        jobs=len(run.jobs),
        passed=sum(j.passed for j in done),
        failed=sum(j.failed for j in done),
        running=sum(j.status is Status.IN_PROGRESS for j in run.jobs),
        waiting=sum(j.status in _WAITING for j in run.jobs),
        skipped=sum(j.conclusion in (Conclusion.SKIPPED, Conclusion.STALE) for j in done),
        reruns=sum(j.reruns for j in run.jobs),
        required=len(required) if run.required_known else None,
        required_passed=sum(j.lets_merge for j in required) if run.required_known else None,
    )


def missing(run: CIRun) -> tuple[Missing, ...]:
    """Required checks that have not reported at all."""
    begun = [t for j in run.jobs for t in (j.queued or j.started,) if t is not None]
    waited = _seconds(min(begun), run.collected) if begun else None
    return tuple(Missing(j, waited) for j in run.jobs if j.status is Status.EXPECTED)


def running(run: CIRun) -> tuple[Running, ...]:
    """Jobs under way or waiting; the estimate is the median of past runs that passed, None without any."""
    under_way = (Status.IN_PROGRESS, Status.QUEUED, Status.WAITING)
    return tuple(_running(run, j) for j in run.jobs if j.status in under_way)


def _running(run: CIRun, job: Job) -> Running:
    past = [
        p
        for p in run.history
        if p.job == job.name and not p.test and p.conclusion is Conclusion.SUCCESS
    ]
    took = [p.seconds for p in past if p.seconds is not None]
    elapsed = _seconds(job.started, run.collected) if job.started is not None else None
    remaining = max(0, int(median(took)) - (elapsed or 0)) if took else None
    return Running(job, elapsed, remaining, len(took))


def _seconds(start: datetime, end: datetime) -> int:
    return max(0, int((end - start).total_seconds()))
