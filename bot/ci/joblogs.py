"""Logs of failed jobs, and what else GitHub says of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path

from bot.ci import convert
from bot.ci.convert import Execution
from bot.ci.tolerant_fetch import Asking
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
_STATES = {410: LogState.EXPIRED, 403: LogState.DENIED}


@dataclass
class Told:
    """Facts that logs tell: the merge commit and the base that were checked out, and what each job uploaded."""

    merged: tuple[str, str, str] | None = None  # merge commit, head, base
    uploaded: dict[str, frozenset[int]] = field(default_factory=dict)

    def read(self, job: str, log: bytes) -> None:
        self.uploaded[job] = frozenset(int(m[1]) for m in _UPLOADED.finditer(log))
        found = _MERGED.search(log)
        if found is not None and self.merged is None:
            self.merged = (found[1].decode(), found[2].decode(), found[3].decode())


def logged(
    asking: Asking, into: Path, executions: Iterable[tuple[Execution, tuple[Execution, ...]]]
) -> tuple[tuple[Job, ...], Told]:
    """The workflow jobs; failed ones with their logs, saved in `into`, and the signatures of earlier attempts."""
    made: list[Job] = []
    told = Told()
    asked = again = 0
    for last, before in executions:
        job = convert.job(last, before)
        if job.failed and job.runner and asked < MOST_LOGS:
            asked += 1
            job = _with_log(asking, into, job, told)
        for n, (attempt, execution) in enumerate(zip(job.attempts, before, strict=True)):
            if job.failed and attempt.conclusion.failed and again < MOST_ATTEMPT_LOGS:
                again += 1
                seen = _attempt(asking, attempt, execution)
                job = replace(job, attempts=(*job.attempts[:n], seen, *job.attempts[n + 1 :]))
        made.append(job)
    return tuple(made), told


def _with_log(asking: Asking, into: Path, job: Job, told: Told) -> Job:
    if asking.limited:
        asking.problems.add(Problem.LOGS)
        return replace(job, log_state=LogState.FAILED)
    try:
        data = asking.source.log(int(job.id))
    except GitHubError as error:
        asking.limited = isinstance(error, RateLimited)
        if error.status != 410:
            asking.problems.add(Problem.LOGS)
        state = LogState.FAILED if asking.limited else _STATES.get(error.status, LogState.FAILED)
        return replace(job, log_state=state)
    path = f"logs/{job.id}.log"
    (into / path).write_bytes(data)
    told.read(job.id, data)
    return replace(job, log=path, log_state=LogState.PRESENT)


def _attempt(asking: Asking, attempt: Attempt, execution: Execution) -> Attempt:
    log = asking.optional(Problem.LOGS, lambda: asking.source.log(int(execution.job["id"])), b"")
    found = CrashGuard().run("attempt", lambda: signatures(BytesIO(log)), tuple[str, ...])
    return replace(attempt, signatures=found)


def noted(asking: Asking, jobs: Iterable[Job]) -> Iterator[Job]:
    """The jobs; failed ones, the first `MOST_NOTES`, with their annotations. A job of Actions is a check run too."""
    asked = 0
    for job in jobs:
        if not job.failed or not job.id.isdecimal() or asked >= MOST_NOTES or asking.limited:
            yield job
            continue
        asked += 1
        yield _noted(asking, job)


def _noted(asking: Asking, job: Job) -> Job:
    path = f"{asking.source.path}/check-runs/{job.id}/annotations"
    try:
        return convert.annotated(job, asking.source.client.get(path))
    except GitHubError as error:
        asking.limited = isinstance(error, RateLimited)
        if error.status != 404:
            asking.problems.add(Problem.CHECKS)
        return job
