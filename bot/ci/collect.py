"""Everything about one pull request's CI, from GitHub into a folder that can be reported on offline.

What cannot be read becomes a problem of the run. Only the pull request itself must be readable.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from bot.ci import convert
from bot.ci.convert import Execution
from bot.ci.joblogs import Told, logged, noted
from bot.ci.other_runs import Asked, Elsewhere
from bot.ci.required import required
from bot.ci.results import of_base, results
from bot.ci.source import Source
from bot.ci.tolerant_fetch import Asking
from bot.errors import UserError
from bot.github import GitHubError, RateLimited
from bot.github.check import NAME
from bot.github.client import Json
from checks.ci.analyse import CrashGuard
from checks.ci.folder import RUN, dump
from checks.ci.message_keys import Problem
from checks.ci.model import CIRun, Job, Past, Revisions, Status

MOST_RUNS = 60
MOST_JOBS = 1_000
_FOLDERS = ("logs", "junit", "coverage")


@dataclass(frozen=True)
class _Jobs:
    """What ran: the last execution of every workflow job with those before, and everything else."""

    executions: tuple[tuple[Execution, tuple[Execution, ...]], ...]
    others: tuple[Job, ...]

    def keys(self, jobs: Iterable[Job]) -> frozenset[tuple[str, str]]:
        """What those of `jobs` that are workflow jobs are known by in other runs."""
        known = {
            str(e.job["id"]): (str(e.run["path"]), str(e.job["name"])) for e, _ in self.executions
        }
        return frozenset(known[j.id] for j in jobs if j.id in known)


def collect(source: Source, into: Path, now: datetime) -> CIRun:
    """Read the run and save it in `into`, which is new, empty, or an earlier run's folder.

    `now` is the time that the report will give, UTC in whole seconds. Raises `UserError` where the folder holds
    something else or the pull request cannot be read, and `Limited` where GitHub's limits are reached before the jobs
    are known.
    """
    prepare(into)
    run = _collected(Asking(source), into, now)
    (into / RUN).write_text(dump(run), "utf-8")
    return run


def prepare(into: Path) -> None:
    """Make the folder, without anything of an earlier run. Raises `UserError`."""
    try:
        into.mkdir(parents=True, exist_ok=True)
        there = {path.name for path in into.iterdir()}
        if there and RUN not in there:
            raise UserError("ci-not-a-run", path=str(into))
        for name in _FOLDERS:
            shutil.rmtree(into / name, ignore_errors=True)
        (into / RUN).unlink(missing_ok=True)
        (into / "logs").mkdir(exist_ok=True)
    except OSError as error:
        raise UserError("unwritable", path=str(into), reason=error.strerror) from error


def _collected(asking: Asking, into: Path, now: datetime) -> CIRun:
    source = asking.source
    data = _pull(source)
    head, branch = data["head"]["sha"], data["base"]["ref"]
    found = _jobs(asking, head)
    known = required(source.client, source.place, branch, head)
    if not known.whole:
        asking.problems.add(Problem.REQUIRED)
    jobs, told = logged(asking, into, found.executions)
    made = results(asking, into, (last for last, _ in found.executions), told.uploaded)
    jobs = tuple(known.marked(noted(asking, [*(made.of(j) for j in jobs), *found.others])))
    revisions = _revisions(asking, data, told, head)
    if revisions.merge_base:
        of_base(asking, into, revisions.merge_base, made)
    past = _history(
        asking,
        Asked(
            failed=found.keys(j for j in jobs if j.failed),
            running=found.keys(j for j in jobs if j.status is not Status.COMPLETED),
            head=head,
            branch=branch,
            merge_base=revisions.merge_base,
            now=now,
        ),
    )
    return CIRun(
        pull=convert.pull(source.place.repository, data, known.approved),
        revisions=revisions,
        collected=now,
        jobs=tuple(sorted(jobs, key=lambda j: (j.workflow, j.name, j.id))),
        history=past,
        coverage=tuple(made.coverage),
        artifacts=tuple(made.artifacts),
        required_known=known.whole,
        problems=tuple(sorted(str(p) for p in asking.problems)),
    )


def _pull(source: Source) -> Json:
    try:
        data: Json = source.client.get_new(source.place.path)
    except RateLimited:
        raise
    except GitHubError as error:
        name = f"{source.place.repository}#{source.place.number}"
        raise UserError("ci-unreadable-pull", pull=name, reason=str(error)) from error
    return data


def _jobs(asking: Asking, head: str) -> _Jobs:
    pages, path = asking.source.client.pages, asking.source.path
    every: list[Execution] = []
    others: list[Job] = []
    runs = asking.listed(
        Problem.JOBS,
        lambda: pages(f"{path}/actions/runs", "workflow_runs", head_sha=head),
        MOST_RUNS,
    )
    for run in runs:
        jobs = _of_run(asking, run)
        every += [Execution(run, job) for job in jobs]
        if not jobs and run["conclusion"] not in ("success", "skipped", "cancelled", "neutral"):
            others.append(convert.jobless(run))
    ids = {one.job["id"] for one in every}
    at = f"{path}/commits/{head}"
    checks = asking.listed(
        Problem.CHECKS, lambda: pages(f"{at}/check-runs", "check_runs"), MOST_JOBS
    )
    others += [convert.check_run(c) for c in checks if c["id"] not in ids and c["name"] != NAME]
    others += convert.statuses(
        asking.listed(Problem.CHECKS, lambda: pages(f"{at}/statuses"), MOST_JOBS)
    )
    return _Jobs(tuple(convert.latest(every)), tuple(others))


def _of_run(asking: Asking, run: Json) -> list[Json]:
    """The jobs of every attempt of a run."""
    path = f"{asking.source.path}/actions/runs/{run['id']}/jobs"
    return asking.listed(
        Problem.JOBS, lambda: asking.source.client.pages(path, "jobs", filter="all"), MOST_JOBS
    )


def _revisions(asking: Asking, data: Json, told: Told, head: str) -> Revisions:
    """What CI merged is what its logs say: GitHub's own merge commit goes on with the base branch."""
    merge, base = "", str(data["base"]["sha"])
    if told.merged is not None and told.merged[1] == head:
        merge, base = told.merged[0], told.merged[2]
    path = f"{asking.source.path}/compare/{base}...{head}"
    compared: Json = asking.optional(
        Problem.HISTORY, lambda: asking.source.client.get(path, per_page=1), {}
    )
    merge_base = compared["merge_base_commit"]["sha"] if compared else ""
    return Revisions(head, base, merge_base, merge)


def _history(asking: Asking, asked: Asked) -> tuple[Past, ...]:
    guard = CrashGuard()
    past: tuple[Past, ...] = asking.optional(
        Problem.HISTORY, Elsewhere(asking.source, asked, guard).all, ()
    )
    if guard.notes:
        asking.problems.add(Problem.HISTORY)
    return past
