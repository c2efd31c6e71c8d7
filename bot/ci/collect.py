"""Everything about one pull request's CI, from GitHub into a folder that can be reported on
offline.

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
from bot.ci.joblogs import LogFacts, add_annotations, read_logs
from bot.ci.merge_queue import EVENT, runs_of_pull
from bot.ci.other_runs import HistoryQuery, OtherRuns
from bot.ci.passed_logs import add_passed_logs
from bot.ci.required import required
from bot.ci.results import add_base_coverage, save_reports
from bot.ci.source import Source
from bot.ci.tolerant_fetch import TolerantFetch
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
_FINE_WITHOUT_JOBS = ("success", "skipped", "cancelled", "neutral")


@dataclass(frozen=True)
class _CommitJobs:
    """What ran on a commit.

    The last execution of every workflow job with those before it, and everything else.
    """

    executions: tuple[tuple[Execution, tuple[Execution, ...]], ...]
    others: tuple[Job, ...]

    def keys(self, jobs: Iterable[Job]) -> frozenset[tuple[str, str]]:
        """The file and name of those of `jobs` that are workflow jobs: the same in other runs."""
        ids = {job.id for job in jobs}
        keys = set()
        for execution, _ in self.executions:
            if str(execution.job["id"]) in ids:
                keys.add((str(execution.run["path"]), str(execution.job["name"])))
        return frozenset(keys)


def collect(source: Source, into: Path, now: datetime) -> CIRun:
    """Read the run and save it in `into`, which is new, empty, or an earlier run's folder.

    `now` is the time that the report will give, UTC in whole seconds. Raises `UserError` where the
    folder holds something else or the pull request cannot be read, and `RateLimited` where GitHub's
    limits are reached before the jobs are known.
    """
    prepare(into)
    run = _collect(TolerantFetch(source), into, now)
    (into / RUN).write_text(dump(run), "utf-8")
    return run


def prepare(into: Path) -> None:
    """Make the folder, without anything of an earlier run. Raises `UserError`."""
    try:
        into.mkdir(parents=True, exist_ok=True)
        names = {path.name for path in into.iterdir()}
        if names and RUN not in names:
            raise UserError("ci-not-a-run", path=str(into))
        for name in _FOLDERS:
            shutil.rmtree(into / name, ignore_errors=True)
        (into / RUN).unlink(missing_ok=True)
        (into / "logs").mkdir(exist_ok=True)
    except OSError as error:
        raise UserError("unwritable", path=str(into), reason=error.strerror) from error


def _collect(fetch: TolerantFetch, into: Path, now: datetime) -> CIRun:
    source = fetch.source
    data = _pull(source)
    head, branch = data["head"]["sha"], data["base"]["ref"]
    found = _jobs(fetch, head)
    checks = required(source.client, source.place, branch, head)
    if not checks.whole:
        fetch.problems.add(Problem.REQUIRED)
    workflow_jobs, facts = read_logs(fetch, into, found.executions)
    last_executions = [last for last, _ in found.executions]
    saved = save_reports(fetch, into, last_executions, facts.uploaded)
    all_jobs = [*(saved.of(job) for job in workflow_jobs), *found.others]
    jobs = list(checks.marked(add_annotations(fetch, all_jobs)))
    revisions = _revisions(fetch, data, facts, head)
    if revisions.merge_base:
        add_base_coverage(fetch, into, revisions.merge_base, saved)
    query = HistoryQuery(
        failed=found.keys(job for job in jobs if job.failed),
        running=found.keys(job for job in jobs if job.status is not Status.COMPLETED),
        head=head,
        branch=branch,
        merge_base=revisions.merge_base,
        now=now,
    )
    history = _history(fetch, query)
    jobs = list(add_passed_logs(fetch, into, jobs, history))
    events = {last.job["id"]: last.run["event"] for last in last_executions}
    jobs = convert.with_events(jobs, events)
    jobs.sort(key=lambda job: (job.workflow, job.name, job.id))
    return CIRun(
        pull=convert.pull(source.place.repository, data, checks.approved),
        revisions=revisions,
        collected=now,
        jobs=tuple(jobs),
        history=history,
        coverage=tuple(saved.coverage),
        artifacts=tuple(saved.artifacts),
        required_known=checks.whole,
        problems=tuple(sorted(str(problem) for problem in fetch.problems)),
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


def _jobs(fetch: TolerantFetch, head: str) -> _CommitJobs:
    """Workflow jobs, those of the merge queue too, checks of other Apps, and commit statuses."""
    pages, path = fetch.source.client.pages, fetch.source.path
    runs = fetch.listed(
        Problem.JOBS,
        lambda: pages(f"{path}/actions/runs", "workflow_runs", head_sha=head),
        MOST_RUNS,
    )
    queue_runs: list[Json] = []
    if runs:
        queue_runs = fetch.optional(
            Problem.JOBS, lambda: fetch.source.runs(event=EVENT, per_page=100), []
        )
    executions: list[Execution] = []
    others: list[Job] = []
    for run in [*runs, *runs_of_pull(queue_runs, fetch.source.place.number, runs)]:
        jobs = _jobs_of_run(fetch, run)
        executions += [Execution(run, job) for job in jobs]
        if not jobs and run["conclusion"] not in _FINE_WITHOUT_JOBS:
            others.append(convert.check_without_jobs(run))
    ids = {execution.job["id"] for execution in executions}
    commit = f"{path}/commits/{head}"
    check_runs = fetch.listed(
        Problem.CHECKS, lambda: pages(f"{commit}/check-runs", "check_runs"), MOST_JOBS
    )
    for check in check_runs:
        # A job of Actions is a check run too; and our own check is no news.
        if check["id"] not in ids and check["name"] != NAME:
            others.append(convert.check_run(check))
    statuses = fetch.listed(Problem.CHECKS, lambda: pages(f"{commit}/statuses"), MOST_JOBS)
    others += convert.statuses(statuses)
    return _CommitJobs(tuple(convert.latest(executions)), tuple(others))


def _jobs_of_run(fetch: TolerantFetch, run: Json) -> list[Json]:
    """The jobs of every attempt of a run."""
    path = f"{fetch.source.path}/actions/runs/{run['id']}/jobs"
    return fetch.listed(
        Problem.JOBS, lambda: fetch.source.client.pages(path, "jobs", filter="all"), MOST_JOBS
    )


def _revisions(fetch: TolerantFetch, data: Json, facts: LogFacts, head: str) -> Revisions:
    """The commits of the run. What CI merged is what its logs say.

    GitHub's own merge commit cannot be used: it moves on with the base branch.
    """
    merge, base = "", str(data["base"]["sha"])
    if facts.merged is not None:
        logged_merge, logged_head, logged_base = facts.merged
        if logged_head == head:
            merge, base = logged_merge, logged_base
    path = f"{fetch.source.path}/compare/{base}...{head}"
    compared: Json = fetch.optional(
        Problem.HISTORY, lambda: fetch.source.client.get(path, per_page=1), {}
    )
    merge_base = compared["merge_base_commit"]["sha"] if compared else ""
    return Revisions(head, base, merge_base, merge)


def _history(fetch: TolerantFetch, query: HistoryQuery) -> tuple[Past, ...]:
    guard = CrashGuard()
    past: tuple[Past, ...] = fetch.optional(
        Problem.HISTORY, OtherRuns(fetch.source, query, guard).all, ()
    )
    if guard.notes:
        fetch.problems.add(Problem.HISTORY)
    return past
