"""What the same jobs did elsewhere: on the base branch, and on other pull requests of the last
seven days.

The number of requests is bounded: what is not read is not known, and never an excuse.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from io import BytesIO
from itertools import islice

from bot.ci.convert import Execution, job, time_of
from bot.ci.source import Source, day
from bot.github import GitHubError, RateLimited
from bot.github.client import Json
from checks.ci.analyse import CrashGuard
from checks.ci.earlier_runs import WINDOW
from checks.ci.log_failures import failures_in_log
from checks.ci.model import Past, Where
from checks.ci.observed_failures import ObservedFailure

MOST_BASE_RUNS = 10
MOST_OTHER_RUNS = 12
MOST_LOGS = 16
MOST_FAILURES = 20
_MOST_JOBS = 300
_OF_BASE = ("push", "schedule", "merge_group", "workflow_dispatch")

Key = tuple[str, str]  # the workflow's file and the job's name


@dataclass(frozen=True)
class HistoryQuery:
    """The jobs of this run whose results elsewhere are wanted, and where this run stands."""

    failed: frozenset[Key]
    running: frozenset[Key]
    head: str
    branch: str
    merge_base: str
    now: datetime


class OtherRuns:
    """Collects `Past` results, and limits how many requests that takes."""

    def __init__(self, source: Source, query: HistoryQuery, guard: CrashGuard) -> None:
        self._source = source
        self._query = query
        self._guard = guard
        self._logs_left = MOST_LOGS
        self._since = day(query.now - WINDOW)

    def all(self) -> tuple[Past, ...]:
        """Everything, the base branch first. Raises `GitHubError`."""
        if not self._query.failed and not self._query.running:
            return ()
        results = list(self._on_base())
        if self._query.failed:
            results += self._on_other_pulls()
        results.sort(
            key=lambda past: (
                past.where,
                -past.date.timestamp(),
                past.job,
                past.test,
                past.signature,
                past.commit,
            )
        )
        return tuple(results)

    def _on_base(self) -> Iterator[Past]:
        query = self._query
        wanted = query.failed | query.running
        runs = self._source.runs(branch=query.branch, created=f">={self._since}", per_page=100)
        has_merge_base = any(run["head_sha"] == query.merge_base for run in runs)
        if query.merge_base and not has_merge_base:
            runs += self._source.runs(head_sha=query.merge_base, per_page=30)
        own_runs = [run for run in runs if run["event"] in _OF_BASE and self._in_time(run)]
        for run in islice(_ended_runs(own_runs, wanted), MOST_BASE_RUNS):
            is_merge_base = run["head_sha"] == query.merge_base
            where = Where.MERGE_BASE if is_merge_base else Where.BASE
            for data in self._jobs(run, wanted):
                yield from self._results(run, data, where)

    def _on_other_pulls(self) -> Iterator[Past]:
        query = self._query
        runs = self._source.runs(
            event="pull_request", status="failure", created=f">={self._since}", per_page=100
        )
        other_runs = [run for run in runs if run["head_sha"] != query.head and self._in_time(run)]
        for run in islice(_ended_runs(other_runs, query.failed), MOST_OTHER_RUNS):
            jobs = [job for job in self._jobs(run, query.failed) if job["conclusion"] == "failure"]
            if not jobs:
                continue
            pull = self._pull(str(run["head_sha"]))
            if pull is None or pull["number"] == self._source.place.number:
                continue
            author = pull["user"]["login"] if pull["user"] else ""
            for data in jobs:
                yield from self._results(run, data, Where.PULL, int(pull["number"]), author)

    def _in_time(self, run: Json) -> bool:
        now = self._query.now
        return now - WINDOW <= time_of(run["created_at"]) <= now

    def _jobs(self, run: Json, wanted: frozenset[Key]) -> list[Json]:
        """The wanted jobs of a run that have ended."""
        path = f"{self._source.path}/actions/runs/{run['id']}/jobs"
        jobs = []
        for data in islice(self._source.client.pages(path, "jobs", filter="latest"), _MOST_JOBS):
            if (run["path"], data["name"]) in wanted and data["status"] == "completed":
                jobs.append(data)
        return jobs

    def _pull(self, commit: str) -> Json | None:
        """The pull request whose head is `commit`."""
        for pull in self._source.client.get(f"{self._source.path}/commits/{commit}/pulls"):
            if pull["head"]["sha"] == commit:
                found: Json = pull
                return found
        return None

    def _results(
        self, run: Json, data: Json, where: Where, pull: int = 0, author: str = ""
    ) -> Iterator[Past]:
        """A result for each failure of a job that failed here too; one result for any other job."""
        result = job(Execution(run, data), ())
        failures: tuple[ObservedFailure, ...] = ()
        if result.failed and (run["path"], data["name"]) in self._query.failed:
            failures = self._failures(data)
        distinct = dict.fromkeys((failure.test, failure.signature) for failure in failures)
        for test, signature in distinct or {("", ""): None}:
            yield Past(
                where=where,
                job=result.name,
                commit=run["head_sha"],
                date=result.completed or time_of(run["created_at"]),
                conclusion=result.conclusion,
                workflow=result.workflow,
                test=test,
                signature=signature,
                pull=pull,
                author=author,
                seconds=result.seconds,
                url=result.url,
            )

    def _failures(self, data: Json) -> tuple[ObservedFailure, ...]:
        if self._logs_left <= 0:
            return ()
        self._logs_left -= 1
        try:
            log = self._source.log(int(data["id"]))
        except RateLimited:
            raise
        except GitHubError:
            return ()
        return self._guard.run(
            "history",
            lambda: failures_in_log(BytesIO(log))[0][:MOST_FAILURES],
            tuple[ObservedFailure, ...],
        )


def _ended_runs(runs: Iterable[Json], wanted: frozenset[Key]) -> Iterator[Json]:
    """Ended runs of the wanted workflows, the newest first, each commit and workflow once."""
    paths = {path for path, _ in wanted}
    seen: set[tuple[str, str]] = set()
    for run in sorted(runs, key=lambda r: (r["created_at"], r["id"]), reverse=True):
        key = (run["head_sha"], run["path"])
        if run["path"] in paths and run["status"] == "completed" and key not in seen:
            seen.add(key)
            yield run
