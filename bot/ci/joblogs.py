"""Logs of failed jobs, and what else GitHub says about them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path

from bot.ci import convert
from bot.ci.convert import Execution
from bot.ci.tolerant_fetch import TolerantFetch
from bot.github import GitHubError, RateLimited
from checks.ci.analyse import CrashGuard, signatures
from checks.ci.message_keys import Problem
from checks.ci.model import Attempt, Job, LogState

MOST_LOGS = 40
MOST_ATTEMPT_LOGS = 10
MOST_NOTES = 20
_MERGED = re.compile(
    rb"HEAD is now at ([0-9a-f]{7,64}) Merge ([0-9a-f]{40,64}) into ([0-9a-f]{40,64})"
)
# `actions/upload-artifact` ends with the id of what it uploaded.
_UPLOADED = re.compile(rb"(?:Artifact ID is |/artifacts/)(\d{1,18})\b")
_EXPIRED = 410
_STATES = {_EXPIRED: LogState.EXPIRED, 403: LogState.DENIED}


@dataclass
class LogFacts:
    """Facts that logs tell: what was checked out, and what each job uploaded.

    `merged` are the merge commit, the head and the base; `uploaded` are ids of artifacts by job id.
    """

    merged: tuple[str, str, str] | None = None
    uploaded: dict[str, frozenset[int]] = field(default_factory=dict)

    def read(self, job: str, log: bytes) -> None:
        """Take the facts from the log of a job. Of several merges the first counts."""
        self.uploaded[job] = frozenset(int(match[1]) for match in _UPLOADED.finditer(log))
        match = _MERGED.search(log)
        if match is not None and self.merged is None:
            self.merged = (match[1].decode(), match[2].decode(), match[3].decode())


def read_logs(
    fetch: TolerantFetch,
    into: Path,
    executions: Iterable[tuple[Execution, tuple[Execution, ...]]],
) -> tuple[tuple[Job, ...], LogFacts]:
    """The workflow jobs.

    Failed ones have their log, saved in `into`, and signatures of attempts.
    """
    jobs: list[Job] = []
    facts = LogFacts()
    logs_left, attempt_logs_left = MOST_LOGS, MOST_ATTEMPT_LOGS
    for last, before in executions:
        job = convert.job(last, before)
        if job.failed and job.runner and logs_left > 0:
            logs_left -= 1
            job = _with_log(fetch, into, job, facts)
        attempts = list(job.attempts)
        for number, execution in enumerate(before):
            attempt = attempts[number]
            if job.failed and attempt.conclusion.failed and attempt_logs_left > 0:
                attempt_logs_left -= 1
                attempts[number] = _with_signatures(fetch, attempt, execution)
        jobs.append(replace(job, attempts=tuple(attempts)))
    return tuple(jobs), facts


def _with_log(fetch: TolerantFetch, into: Path, job: Job, facts: LogFacts) -> Job:
    if fetch.limited:
        fetch.problems.add(Problem.LOGS)
        return replace(job, log_state=LogState.FAILED)
    try:
        data = fetch.source.log(int(job.id))
    except GitHubError as error:
        return replace(job, log_state=_refused(fetch, error))
    path = f"logs/{job.id}.log"
    (into / path).write_bytes(data)
    facts.read(job.id, data)
    return replace(job, log=path, log_state=LogState.PRESENT)


def _refused(fetch: TolerantFetch, error: GitHubError) -> LogState:
    """Note that a log could not be read, and why. One that has expired is no problem of the run."""
    fetch.limited = isinstance(error, RateLimited)
    if error.status != _EXPIRED:
        fetch.problems.add(Problem.LOGS)
    if fetch.limited:
        return LogState.FAILED
    return _STATES.get(error.status, LogState.FAILED)


def _with_signatures(fetch: TolerantFetch, attempt: Attempt, execution: Execution) -> Attempt:
    job_id = int(execution.job["id"])
    log = fetch.optional(Problem.LOGS, lambda: fetch.source.log(job_id), b"")
    found = CrashGuard().run("attempt", lambda: signatures(BytesIO(log)), tuple[str, ...])
    return replace(attempt, signatures=found)


def add_annotations(fetch: TolerantFetch, jobs: Iterable[Job]) -> Iterator[Job]:
    """The jobs. The first `MOST_NOTES` failed ones have their annotations.

    A job of Actions is a check run too, of the same id.
    """
    requested = 0
    for job in jobs:
        has_annotations = job.failed and job.id.isdecimal()
        if has_annotations and requested < MOST_NOTES and not fetch.limited:
            requested += 1
            yield _with_annotations(fetch, job)
        else:
            yield job


def _with_annotations(fetch: TolerantFetch, job: Job) -> Job:
    path = f"{fetch.source.path}/check-runs/{job.id}/annotations"
    try:
        return convert.with_annotations(job, fetch.source.client.get(path))
    except GitHubError as error:
        fetch.limited = isinstance(error, RateLimited)
        if error.status != 404:
            fetch.problems.add(Problem.CHECKS)
        return job
