"""What the same jobs did elsewhere: on the base branch, and on other pull requests of the last seven days.

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
class Asked:
    """`failed` and `running`: jobs of this run whose past is asked for."""

    failed: frozenset[Key]
    running: frozenset[Key]
    head: str
    branch: str
    merge_base: str
    now: datetime


class Elsewhere:
    """Collects `Past` results, and counts what it asks for."""

    def __init__(self, source: Source, asked: Asked, guard: CrashGuard) -> None:
        self._source = source
        self._asked = asked
        self._guard = guard
        self._logs = 0
        self._since = day(asked.now - WINDOW)

    def all(self) -> tuple[Past, ...]:
        """Everything, the base branch first. Raises `GitHubError`."""
        if not (self._asked.failed or self._asked.running):
            return ()
        found = [*self._of_base(), *(self._of_others() if self._asked.failed else ())]
        return tuple(
            sorted(
                found,
                key=lambda p: (p.where, -p.date.timestamp(), p.job, p.test, p.signature, p.commit),
            )
        )

    def _of_base(self) -> Iterator[Past]:
        asked, wanted = self._asked, self._asked.failed | self._asked.running
        listed = self._source.runs(branch=asked.branch, created=f">={self._since}", per_page=100)
        if asked.merge_base and not any(r["head_sha"] == asked.merge_base for r in listed):
            listed += self._source.runs(head_sha=asked.merge_base, per_page=30)
        runs = [r for r in listed if r["event"] in _OF_BASE and self._in_time(r)]
        for run in islice(_ended(runs, wanted), MOST_BASE_RUNS):
            where = Where.MERGE_BASE if run["head_sha"] == asked.merge_base else Where.BASE
            for data in self._jobs(run, wanted):
                yield from self._results(run, data, where)

    def _of_others(self) -> Iterator[Past]:
        asked = self._asked
        listed = self._source.runs(
            event="pull_request", status="failure", created=f">={self._since}", per_page=100
        )
        runs = [r for r in listed if r["head_sha"] != asked.head and self._in_time(r)]
        for run in islice(_ended(runs, asked.failed), MOST_OTHER_RUNS):
            jobs = [j for j in self._jobs(run, asked.failed) if j["conclusion"] == "failure"]
            if not jobs:
                continue
            pull = self._pull(str(run["head_sha"]))
            if pull is None or pull["number"] == self._source.place.number:
                continue
            author = pull["user"]["login"] if pull["user"] else ""
            for data in jobs:
                yield from self._results(run, data, Where.PULL, int(pull["number"]), author)

    def _in_time(self, run: Json) -> bool:
        return self._asked.now - WINDOW <= time_of(run["created_at"]) <= self._asked.now

    def _jobs(self, run: Json, wanted: frozenset[Key]) -> list[Json]:
        path = f"{self._source.path}/actions/runs/{run['id']}/jobs"
        listed = islice(self._source.client.pages(path, "jobs", filter="latest"), _MOST_JOBS)
        return [
            j for j in listed if (run["path"], j["name"]) in wanted and j["status"] == "completed"
        ]

    def _pull(self, commit: str) -> Json | None:
        listed = self._source.client.get(f"{self._source.path}/commits/{commit}/pulls")
        return next((p for p in listed if p["head"]["sha"] == commit), None)

    def _results(
        self, run: Json, data: Json, where: Where, pull: int = 0, author: str = ""
    ) -> Iterator[Past]:
        made = job(Execution(run, data), ())
        seen = (
            self._failures(data)
            if made.failed and (run["path"], data["name"]) in self._asked.failed
            else ()
        )
        for test, signature in dict.fromkeys((s.test, s.signature) for s in seen) or (("", ""),):
            yield Past(
                where=where,
                job=made.name,
                commit=run["head_sha"],
                date=made.completed or time_of(run["created_at"]),
                conclusion=made.conclusion,
                workflow=made.workflow,
                test=test,
                signature=signature,
                pull=pull,
                author=author,
                seconds=made.seconds,
                url=made.url,
            )

    def _failures(self, data: Json) -> tuple[ObservedFailure, ...]:
        if self._logs >= MOST_LOGS:
            return ()
        self._logs += 1
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


def _ended(runs: Iterable[Json], wanted: frozenset[Key]) -> Iterator[Json]:
    """Runs of a workflow that is asked for, each commit and workflow once, the newest first."""
    paths = {path for path, _ in wanted}
    seen: set[tuple[str, str]] = set()
    for run in sorted(runs, key=lambda r: (r["created_at"], r["id"]), reverse=True):
        key = (run["head_sha"], run["path"])
        if run["path"] in paths and run["status"] == "completed" and key not in seen:
            seen.add(key)
            yield run
