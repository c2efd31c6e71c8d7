"""Logs of the same jobs that passed on the base branch, for failures that no rule explains."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from bot.ci.tolerant_fetch import TolerantFetch
from checks.ci.analyse import says_nothing
from checks.ci.message_keys import Problem
from checks.ci.model import Conclusion, Job, Past, Where

MOST = 5
_JOB_URL = re.compile(r"/job/(\d{1,20})(?:[?#]|$)")


def add_passed_logs(
    fetch: TolerantFetch, into: Path, jobs: Iterable[Job], history: Iterable[Past]
) -> Iterator[Job]:
    """The jobs. The first `MOST` whose log explains nothing have the log of a run that passed."""
    passed = {past.job: past for past in history if _passed_on_base(past)}
    fetched = 0
    for job in jobs:
        past = passed.get(job.name)
        if past is None or fetched == MOST or fetch.limited or not _is_unexplained(into, job):
            yield job
            continue
        fetched += 1
        yield _with_passed_log(fetch, into, job, past)


def _passed_on_base(past: Past) -> bool:
    is_base = past.where in (Where.BASE, Where.MERGE_BASE)
    return is_base and past.conclusion is Conclusion.SUCCESS and not past.test


def _is_unexplained(into: Path, job: Job) -> bool:
    if not job.failed or not job.log:
        return False
    with (into / job.log).open("rb") as log:
        return says_nothing(log)


def _with_passed_log(fetch: TolerantFetch, into: Path, job: Job, past: Past) -> Job:
    match = _JOB_URL.search(past.url)
    if match is None:
        return job
    job_id = int(match[1])
    data = fetch.optional(Problem.LOGS, lambda: fetch.source.log(job_id), b"")
    if not data:
        return job
    path = f"logs/{job.id}.passed.log"
    (into / path).write_bytes(data)
    return replace(job, passed_log=path)
