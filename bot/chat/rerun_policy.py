"""Whether running a job again can help: what `checks.ci` says of its log, and what GitHub
allows."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from io import BytesIO
from typing import BinaryIO

from bot.chat.commit_jobs import CommitJob
from bot.chat.context import Task
from bot.github import GitHubError, RateLimited
from bot.github.app import READ_CI
from bot.github.download import job_log
from checks.ci.analyse import analyse
from checks.ci.model import CIRun, Conclusion, Job, Kind, LogState, Pull, Revisions
from checks.ci.report import Cause, Rerun

# GitHub runs a job again for thirty days.
_OLDEST = timedelta(days=30)
_LARGEST_LOG = 50 << 20


def reason_not_to_rerun(task: Task, commit_job: CommitJob, now: datetime) -> str | None:
    """Why the job is not run again: a key of the words, None where nothing speaks against it."""
    job = commit_job.job
    if job.conclusion is Conclusion.NONE:
        return "rerun-running"
    if not job.failed:
        return "rerun-passed"
    return reason_not_to_rerun_ended(task, commit_job, now)


def reason_not_to_rerun_ended(task: Task, commit_job: CommitJob, now: datetime) -> str | None:
    """The same of a job that has ended, whether it failed or not."""
    job = commit_job.job
    if job.conclusion is Conclusion.ACTION_REQUIRED:
        return "rerun-approval"
    if job.conclusion is Conclusion.STARTUP_FAILURE:
        return "rerun-startup"
    if job.kind is not Kind.WORKFLOW_JOB or commit_job.run is None:
        return None
    if now - datetime.fromisoformat(commit_job.run["created_at"]) > _OLDEST:
        return "rerun-old"
    if not job.failed:
        return None
    return _reason_in_log(task, job, int(commit_job.run["run_attempt"]))


def _reason_in_log(task: Task, job: Job, attempt: int) -> str | None:
    """Infrastructure is run again once. A number that was off is never: a green one beside it would
    prove nothing."""
    if not job.id.isdecimal():
        return None
    log = _log(task, int(job.id))
    if log is None:
        return None
    with_log = replace(job, attempt=attempt, log="log", log_state=LogState.PRESENT)
    pull = Pull(task.job.repository, task.job.number)
    run = CIRun(pull, Revisions(""), datetime.now(UTC), (with_log,))
    failed = analyse(run, _OneLog(log)).failed
    if not failed:
        return None
    main = failed[0].main
    if any(failure.rerun is Rerun.SAMPLES for failure in failed[0].failures):
        return "rerun-numbers"
    if main.cause is Cause.INFRASTRUCTURE and main.rerun is not Rerun.ONCE:
        return "rerun-infrastructure"
    return None


def _log(task: Task, log_of: int) -> bytes | None:
    """The log of a job; None where GitHub does not give it."""
    job, app = task.job, task.context.app
    token = app.token(job.installation, job.repository_id, READ_CI)
    try:
        return job_log(app.endpoint.api, token, job.repository, log_of, _LARGEST_LOG)
    except RateLimited:
        raise
    except GitHubError:
        return None


class _OneLog:
    """The files of a run that has one log."""

    def __init__(self, log: bytes) -> None:
        self._log = log

    def open(self, name: str) -> BinaryIO | None:
        return BytesIO(self._log) if name == "log" else None
