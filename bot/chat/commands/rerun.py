"""`/re-run <job|all-failed|required-failed>`: what failed on the head, again, each kind by the way that GitHub has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
LEVEL = Permission.WRITE
_MOST = 30
_CHECKS = {"checks": "write"}


def run(task: Task) -> str:
    """Look at what ran, decide for each, then ask GitHub for one after the other; a line for each."""
    plan = task.step(f"plan {task.number}", lambda: _plan(task))
    lines = []
    for number, act in enumerate(plan["acts"]):
        rerun = partial(_act, task, act, plan["head"])
        ended = task.step(f"act {task.number} {number}", rerun)
        lines.append(task.words(f"comments.{ended['key']}", **ended["args"]))
    lines += [task.words(f"comments.{no['key']}", **no["args"]) for no in plan["not"]]
    head = task.words("comments.rerun-head", head=plan["head"][:12])
    return head + "\n\n" + "\n".join(f"- {line}" for line in lines)


def _plan(task: Task) -> Json:
    """What is to be asked for, and what not, of the head as it is now."""
    if not task.said.text:
        raise Refusal("rerun-what")
    pull = task.pull()
    head, branch = str(pull["head"]["sha"]), str(pull["base"]["ref"])
    found = list_jobs(task.client(READ_CI), task.order.place, branch, head, task.context.app.id)
    wanted = task.said.text
    if len(wanted) > 2 and wanted[0] == wanted[-1] == "`":
        wanted = wanted[1:-1].strip()
    if not found:
        raise Refusal("nothing-ran", head=head[:12])
    meant = select_jobs(found, wanted)
    now = datetime.now(UTC)
    reasons = [(one, reason_not_to_rerun(task, one, now)) for one in meant[:_MOST]]
    refused: list[Json] = [{"key": why, "args": {"job": one.full}} for one, why in reasons if why]
    if len(meant) > _MOST:
        refused.append({"key": "rerun-more", "args": {"left": len(meant) - _MOST}})
    good = [one for one, why in reasons if not why]
    held = {one.job.id for one, why in reasons if why}
    # What nobody named, and what a run of all failed jobs would take along.
    others = [one for one in _beside(good, found) if one not in meant]
    held |= {one.job.id for one in others if reason_not_to_rerun(task, one, now)}
    return {"head": head, "acts": list(_acts(good, found, held)), "not": refused}


def _beside(good: list[CommitJob], found: list[CommitJob]) -> Iterator[CommitJob]:
    """The failed jobs of runs of which more than one job is wanted."""
    runs = [int(one.run["id"]) for one in good if one.run is not None]
    for one in found:
        if one.failed and one.run is not None and runs.count(int(one.run["id"])) > 1:
            yield one


def _acts(good: list[CommitJob], found: list[CommitJob], held: set[str]) -> Iterator[Json]:
    """One request a run: GitHub takes no second one for a run that has begun again."""
    by_run: dict[int, list[CommitJob]] = {}
    for one in good:
        if one.run is not None:
            by_run.setdefault(int(one.run["id"]), []).append(one)
        else:
            kind = "check" if one.job.kind is Kind.CHECK_RUN else "status"
            yield {"kind": kind, "id": one.job.id, "job": one.full, "name": one.job.name}
    for run, wanted in by_run.items():
        failed = [
            one for one in found if one.run is not None and int(one.run["id"]) == run and one.failed
        ]
        yield from _of_run(run, wanted, failed, held)


def _of_run(
    run: int, wanted: list[CommitJob], failed: list[CommitJob], held: set[str]
) -> Iterator[Json]:
    first = wanted[0]
    known = {"run": run, "attempt": int((first.run or {})["run_attempt"])}
    if len(wanted) == 1 and len(failed) > 1:
        yield known | {"kind": "job", "id": first.job.id, "job": first.full}
    elif any(one.job.id in held for one in failed):
        # All failed jobs of the run would take along the one that must not: one goes alone, the others wait for it.
        yield known | {"kind": "job", "id": first.job.id, "job": first.full}
        for one in wanted[1:]:
            yield {"kind": "later", "job": one.full}
    else:
        yield known | {"kind": "failed", "job": _names(wanted), "others": len(failed) - len(wanted)}


def _names(wanted: Iterable[CommitJob]) -> str:
    return ", ".join(one.full for one in wanted)


def _act(task: Task, act: Json, head: str) -> Json:
    """Ask for it: once, by someone who may, for what is still the head."""
    args = {"job": act["job"]}
    if act["kind"] == "later":
        return {"key": "rerun-later", "args": args}
    task.needs(LEVEL)
    if task.pull()["head"]["sha"] != head:
        return {"key": "rerun-moved", "args": args}
    try:
        return _sent(task, act, args, head)
    except GitHubError as error:
        if is_transient(error):
            raise
        return {"key": "rerun-refused", "args": args | {"reason": str(error)}}


def _sent(task: Task, act: Json, args: Json, head: str) -> Json:
    here = f"/repos/{task.order.repository}/actions"
    if act["kind"] in ("job", "failed"):
        client = task.client(RUN)
        # A request whose answer was lost is seen by the attempt that it made.
        if int(client.get(f"{here}/runs/{act['run']}")["run_attempt"]) == act["attempt"]:
            one = (
                f"{here}/jobs/{act['id']}/rerun"
                if act["kind"] == "job"
                else f"{here}/runs/{act['run']}/rerun-failed-jobs"
            )
            client.post(one, {})
        key = "rerun-others" if act.get("others") else "rerun-done"
        return {"key": key, "args": args | {"attempt": act["attempt"] + 1}}
    # Of these nothing shows whether they had their effect, so they are sent once and never again.
    if not task.context.records.claim(f"{task.id}-{act['id']}"):
        return {"key": "rerun-unsure", "args": args}
    try:
        if act["kind"] == "status":
            return _hook(task, act, args, head)
        task.client(_CHECKS).post(
            f"/repos/{task.order.repository}/check-runs/{act['id']}/rerequest", {}
        )
    except RateLimited:
        task.context.records.release(f"{task.id}-{act['id']}")
        raise
    except UncertainWrite:
        return {"key": "rerun-unsure", "args": args}
    return {"key": "rerun-requested", "args": args}


def _hook(task: Task, act: Json, args: Json, head: str) -> Json:
    """A status is no job of GitHub's: who made it is asked, where the settings say how."""
    hook = task.context.settings.status_hooks.get(act["name"])
    if hook is None:
        return {"key": "rerun-no-hook", "args": args}
    order = task.order
    said = {
        "repository": order.repository,
        "pull": order.number,
        "sha": head,
        "context": act["name"],
        "request": task.id,
    }
    try:
        with httpx.Client(timeout=15, trust_env=False) as http:
            answer = http.post(
                hook.get_secret_value(), json=said, headers={"Idempotency-Key": task.id}
            )
    except httpx.HTTPError:
        return {"key": "rerun-unsure", "args": args}
    if not answer.is_success:
        return {"key": "rerun-refused", "args": args | {"reason": str(answer.status_code)}}
    return {"key": "rerun-requested", "args": args}
