"""Which requests `/re-run` comes to: what is asked of GitHub, and what is not, with the reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice

from bot.chat.base_configuration import read_base_configuration
from bot.chat.commit_jobs import GROUPS, CommitJob, list_jobs, list_run_jobs, select_failed_jobs
from bot.chat.context import Refusal, Task
from bot.chat.job_names import Aliases, by_full_name, find_jobs
from bot.chat.permissions import Permission
from bot.chat.rerun_policy import reason_not_to_rerun, reason_not_to_rerun_ended
from bot.github.app import READ_CI
from bot.github.client import Json
from checks.ci.model import Conclusion, Kind

_MOST = 30
_BASE = "base "
# Runs of the base branch that are looked through for a job: those of some days.
_MOST_BASE_RUNS = 200


def plan_reruns(task: Task) -> Json:
    """`acts` are asked for and `not` is not, on the commit `head`, or on that of `base`."""
    text = _without_ticks(task.command.text)
    if not text:
        raise Refusal("rerun-what")
    pull = task.pull()
    head, branch = str(pull["head"]["sha"]), str(pull["base"]["ref"])
    app = task.context.app
    jobs = list_jobs(task.client(READ_CI), task.job.place, branch, head, app.id)
    if not jobs:
        raise Refusal("nothing-ran", head=head[:12])

    def read_aliases() -> Aliases:
        return read_base_configuration(task, pull)[0].ci.aliases

    # A job may be called "base tests".
    if text.lower().startswith(_BASE) and not by_full_name(jobs, text):
        name = _without_ticks(text[len(_BASE) :].strip())
        return _plan_on_base(task, find_jobs(jobs, name, read_aliases), head, branch)
    if text.lower() in GROUPS:
        selected = select_failed_jobs(jobs, text.lower())
    else:
        selected = find_jobs(jobs, text, read_aliases)
    return _plan_on_head(task, jobs, selected, head)


def _plan_on_head(task: Task, jobs: list[CommitJob], selected: list[CommitJob], head: str) -> Json:
    now = datetime.now(UTC)
    to_run: list[CommitJob] = []
    refused: list[Json] = []
    # Jobs that must not run again, also not with the other jobs of their run.
    held: set[str] = set()
    for job in selected[:_MOST]:
        reason = reason_not_to_rerun(task, job, now)
        if reason is None:
            to_run.append(job)
        else:
            refused.append({"key": reason, "args": {"job": job.full_name}})
            held.add(job.job.id)
    if len(selected) > _MOST:
        refused.append({"key": "rerun-more", "args": {"left": len(selected) - _MOST}})
    for job in _taken_along(to_run, jobs):
        if job not in selected and reason_not_to_rerun(task, job, now):
            held.add(job.job.id)
    return {"head": head, "acts": list(_acts(to_run, jobs, held)), "not": refused, "base": None}


def _plan_on_base(task: Task, wanted: list[CommitJob], head: str, branch: str) -> Json:
    """The same jobs, where the base branch ran them last, whether they failed there or not."""
    task.require(Permission.WRITE)
    acts: list[Json] = []
    refused: list[Json] = []
    commit = ""
    for job in wanted[:_MOST]:
        on_base = _last_on_base(task, job, branch)
        if on_base is None:
            refused.append({"key": "rerun-not-on-base", "args": {"job": job.full_name}})
            continue
        run = on_base.run or {}
        commit = commit or str(run["head_sha"])
        reason = reason_not_to_rerun_ended(task, on_base, datetime.now(UTC))
        if on_base.job.conclusion is Conclusion.NONE:
            reason = "rerun-running"
        if reason:
            refused.append({"key": reason, "args": {"job": on_base.full_name}})
        else:
            acts.append(_one_job(on_base))
    base = {"branch": branch, "commit": commit[:12]}
    return {"head": head, "acts": acts, "not": refused, "base": base}


def _last_on_base(task: Task, wanted: CommitJob, branch: str) -> CommitJob | None:
    """The newest job of this name in a run of the base branch; None where there is none."""
    client, place = task.client(READ_CI), task.job.place
    runs = client.pages(f"/repos/{place.repository}/actions/runs", "workflow_runs", branch=branch)
    for run in islice(runs, _MOST_BASE_RUNS):
        # A pull request's run has the name of the branch that it comes from, which may be `branch`.
        if run["event"].startswith("pull_request") or run["name"] != wanted.job.workflow:
            continue
        for job in list_run_jobs(client, place, run):
            if job.job.name == wanted.job.name:
                return job
    return None


def _without_ticks(text: str) -> str:
    """The name of a job that somebody wrote as code."""
    if len(text) > 2 and text[0] == text[-1] == "`":
        return text[1:-1].strip()
    return text


def _taken_along(to_run: list[CommitJob], jobs: list[CommitJob]) -> Iterator[CommitJob]:
    """The failed jobs of runs of which more than one job is wanted: all of them would run again."""
    wanted_in_run = Counter(job.run_id for job in to_run)
    for job in jobs:
        if job.failed and job.run_id is not None and wanted_in_run[job.run_id] > 1:
            yield job


def _acts(to_run: list[CommitJob], jobs: list[CommitJob], held: set[str]) -> Iterator[Json]:
    """One request a run: GitHub takes no second one for a run that has begun again."""
    by_run: dict[int, list[CommitJob]] = {}
    for job in to_run:
        if job.run_id is not None:
            by_run.setdefault(job.run_id, []).append(job)
        else:
            kind = "check" if job.job.kind is Kind.CHECK_RUN else "status"
            name = job.job.name
            yield {"kind": kind, "id": job.job.id, "job": job.full_name, "name": name}
    for run_id, wanted in by_run.items():
        failed = [job for job in jobs if job.failed and job.run_id == run_id]
        yield from _acts_of_run(wanted, failed, held)


def _acts_of_run(
    wanted: list[CommitJob], failed: list[CommitJob], held: set[str]
) -> Iterator[Json]:
    """One job of the run, or all that failed."""
    first, *others = wanted
    one_job = _one_job(first)
    if not others and len(failed) > 1:
        yield one_job
    elif any(job.job.id in held for job in failed):
        # All failed jobs of the run would take along the one that must not: one goes alone, the
        # others wait for it.
        yield one_job
        for job in others:
            yield {"kind": "later", "job": job.full_name}
    else:
        names = ", ".join(job.full_name for job in wanted)
        yield one_job | {"kind": "failed", "job": names, "others": len(failed) - len(wanted)}


def _one_job(job: CommitJob) -> Json:
    """The request for one job of a workflow's run."""
    attempt = int((job.run or {})["run_attempt"])
    return {
        "kind": "job",
        "run": job.run_id,
        "attempt": attempt,
        "id": job.job.id,
        "job": job.full_name,
    }
