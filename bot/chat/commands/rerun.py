"""`/re-run <job|all-failed|required-failed>`: what failed on the head, again, each kind by the way
that GitHub has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from typing import Any

import httpx

from bot.chat.commit_jobs import CommitJob, list_jobs, select_jobs
from bot.chat.context import Refusal, Task
from bot.chat.permissions import Permission
from bot.chat.rerun_policy import reason_not_to_rerun
from bot.context.retries import is_transient
from bot.github import GitHubError, RateLimited, UncertainWrite
from bot.github.app import READ_CI, RUN
from checks.ci.model import Kind

Json = dict[str, Any]
NAME = "re-run"
USAGE = "<job|all-failed|required-failed>"
PERMISSION = Permission.WRITE
_MOST = 30
_CHECKS = {"checks": "write"}


def run(task: Task) -> str:
    """Look at what ran, decide for each, then ask GitHub for one after the other; a line for
    each."""
    plan = task.step(f"plan {task.number}", lambda: _plan(task))
    lines = []
    for number, act in enumerate(plan["acts"]):
        rerun = partial(_act, task, act, plan["head"])
        result = task.step(f"act {task.number} {number}", rerun)
        lines.append(task.words(f"comments.{result['key']}", **result["args"]))
    for refused in plan["not"]:
        lines.append(task.words(f"comments.{refused['key']}", **refused["args"]))
    head = task.words("comments.rerun-head", head=plan["head"][:12])
    return head + "\n\n" + "\n".join(f"- {line}" for line in lines)


def _plan(task: Task) -> Json:
    """What is to be asked for (`acts`), and what not (`not`), of the head as it is now."""
    if not task.command.text:
        raise Refusal("rerun-what")
    pull = task.pull()
    head, branch = str(pull["head"]["sha"]), str(pull["base"]["ref"])
    app = task.context.app
    jobs = list_jobs(task.client(READ_CI), task.job.place, branch, head, app.id)
    if not jobs:
        raise Refusal("nothing-ran", head=head[:12])
    selected = select_jobs(jobs, _without_ticks(task.command.text))
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
    return {"head": head, "acts": list(_acts(to_run, jobs, held)), "not": refused}


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
        yield from _acts_of_run(run_id, wanted, failed, held)


def _acts_of_run(
    run_id: int, wanted: list[CommitJob], failed: list[CommitJob], held: set[str]
) -> Iterator[Json]:
    """One job of the run, or all that failed."""
    first, *others = wanted
    attempt = int((first.run or {})["run_attempt"])
    run = {"run": run_id, "attempt": attempt}
    one_job = run | {"kind": "job", "id": first.job.id, "job": first.full_name}
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
        yield run | {"kind": "failed", "job": names, "others": len(failed) - len(wanted)}


def _act(task: Task, act: Json, head: str) -> Json:
    """Ask for it: once, by someone who may, for what is still the head. Gives the key and the
    arguments of a sentence."""
    args = {"job": act["job"]}
    if act["kind"] == "later":
        return {"key": "rerun-later", "args": args}
    task.require(PERMISSION)
    if task.pull()["head"]["sha"] != head:
        return {"key": "rerun-moved", "args": args}
    try:
        if act["kind"] in ("job", "failed"):
            return _rerun_jobs(task, act, args)
        return _request_once(task, act, args, head)
    except GitHubError as error:
        if is_transient(error):
            raise
        return {"key": "rerun-refused", "args": args | {"reason": str(error)}}


def _rerun_jobs(task: Task, act: Json, args: Json) -> Json:
    """Run jobs of Actions again. A request whose answer was lost is seen by the attempt that it
    made."""
    actions = f"/repos/{task.job.repository}/actions"
    client = task.client(RUN)
    run = client.get(f"{actions}/runs/{act['run']}")
    if int(run["run_attempt"]) == act["attempt"]:
        path = f"{actions}/runs/{act['run']}/rerun-failed-jobs"
        if act["kind"] == "job":
            path = f"{actions}/jobs/{act['id']}/rerun"
        client.post(path, {})
    key = "rerun-others" if act.get("others") else "rerun-done"
    return {"key": key, "args": args | {"attempt": act["attempt"] + 1}}


def _request_once(task: Task, act: Json, args: Json, head: str) -> Json:
    """Ask for a check or a status. Nothing shows whether that had its effect, so it is sent once
    and never again."""
    records, request = task.context.records, f"{task.id}-{act['id']}"
    if not records.claim(request):
        return {"key": "rerun-unsure", "args": args}
    if act["kind"] == "status":
        return _call_hook(task, act, args, head)
    path = f"/repos/{task.job.repository}/check-runs/{act['id']}/rerequest"
    try:
        task.client(_CHECKS).post(path, {})
    except RateLimited:
        records.release(request)
        raise
    except UncertainWrite:
        return {"key": "rerun-unsure", "args": args}
    return {"key": "rerun-requested", "args": args}


def _call_hook(task: Task, act: Json, args: Json, head: str) -> Json:
    """A status is no job of GitHub's: who made it is asked, where the settings say how."""
    hook = task.context.settings.status_hooks.get(act["name"])
    if hook is None:
        return {"key": "rerun-no-hook", "args": args}
    body = {
        "repository": task.job.repository,
        "pull": task.job.number,
        "sha": head,
        "context": act["name"],
        "request": task.id,
    }
    headers = {"Idempotency-Key": task.id}
    try:
        with httpx.Client(timeout=15, trust_env=False) as http:
            answer = http.post(hook.get_secret_value(), json=body, headers=headers)
    except httpx.HTTPError:
        return {"key": "rerun-unsure", "args": args}
    if not answer.is_success:
        return {"key": "rerun-refused", "args": args | {"reason": str(answer.status_code)}}
    return {"key": "rerun-requested", "args": args}
