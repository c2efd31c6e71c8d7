"""`/re-run <job|all-failed|required-failed>`: what failed on the head, again, each kind by the way
that GitHub has; `/re-run base <job>`: the same job where the base branch ran it last."""

from __future__ import annotations

from functools import partial
from typing import Any

import httpx

from bot.chat.context import Task
from bot.chat.permissions import Permission
from bot.chat.rerun_plan import plan_reruns
from bot.context.retries import is_transient
from bot.github import GitHubError, RateLimited, UncertainWrite
from bot.github.app import RUN

Json = dict[str, Any]
NAME = "re-run"
USAGE = "[base] <job|all-failed|required-failed>"
PERMISSION = Permission.AUTHOR
_CHECKS = {"checks": "write"}


def run(task: Task) -> str:
    """Look at what ran, decide for each, then ask GitHub for one after the other; a line for
    each."""
    plan = task.step(f"plan {task.number}", lambda: plan_reruns(task))
    lines = []
    for number, act in enumerate(plan["acts"]):
        rerun = partial(_act, task, act, plan, number)
        result = task.step(f"act {task.number} {number}", rerun)
        lines.append(task.words(f"comments.{result['key']}", **result["args"]))
    for refused in plan["not"]:
        lines.append(task.words(f"comments.{refused['key']}", **refused["args"]))
    if plan["base"]:
        head = task.words("comments.rerun-base-head", **plan["base"])
    else:
        head = task.words("comments.rerun-head", head=plan["head"][:12])
    return head + "\n\n" + "\n".join(f"- {line}" for line in lines)


def _act(task: Task, act: Json, plan: Json, number: int) -> Json:
    """Ask for it: once, by someone who may, for what is still the head. Gives the key and the
    arguments of a sentence. `number` counts the plan's acts from 0."""
    args = {"job": act["job"]}
    if act["kind"] == "later":
        return {"key": "rerun-later", "args": args}
    granted = task.require(Permission.WRITE if plan["base"] else PERMISSION)
    head = plan["head"]
    if task.pull()["head"]["sha"] != head:
        return {"key": "rerun-moved", "args": args}
    if granted is Permission.AUTHOR and not _is_within_limit(task, number):
        most = task.context.settings.author_reruns_per_hour
        return {"key": "rerun-author-limit", "args": args | {"most": most}}
    try:
        if act["kind"] in ("job", "failed"):
            return _rerun_jobs(task, act, args)
        return _request_once(task, act, args, head)
    except GitHubError as error:
        if is_transient(error):
            raise
        return {"key": "rerun-refused", "args": args | {"reason": str(error)}}


def _is_within_limit(task: Task, number: int) -> bool:
    """Whether the author, who may not write to the repository, has this request left within the
    hour. The same request again is not counted twice."""
    job, context = task.job, task.context
    person = f"rerun-{job.repository_id}-{job.user}-"
    context.records.claim(f"{person}{task.id}-{number}")
    requests = context.records.count_claims(person)
    return requests <= context.settings.author_reruns_per_hour


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
