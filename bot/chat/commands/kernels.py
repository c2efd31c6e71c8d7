"""`/kernels [job] [commit] [ops]`: the head's kernels against the base's on a GPU runner of the repository."""

from __future__ import annotations

from typing import Any

from bot.chat import gpu_run, kernel_check
from bot.chat.context import Refusal, Task
from bot.chat.permissions import Permission
from bot.db.commands import GpuRun

Json = dict[str, Any]
NAME = "kernels"
USAGE = "[job] [commit] [ops]"
LEVEL = Permission.WRITE


def run(task: Task) -> str:
    """Ask for the run. What comes of it replaces this answer when the run has ended."""
    wanted = gpu_run.parse_arguments(task.said.text)
    plan = task.step(f"plan {task.number}", lambda: _plan(task, wanted))
    sent = task.step(f"dispatch {task.number}", lambda: gpu_run.dispatch(task, plan, wanted))
    run = GpuRun(**plan["run"])
    task.step(f"check {task.number}", lambda: kernel_check.begin(task.context, task.order, run))
    args = {
        "head": run.head[:12],
        "base": run.base[:12],
        "minutes": run.minutes,
        "request": run.request,
    }
    said = task.words("comments.kernels-sent", **args)
    if not sent["url"]:
        return said
    link = task.context.words.style.link(task.words("comments.kernels-link"), sent["url"])
    return f"{said}\n\n{link}"


def _plan(task: Task, wanted: gpu_run.KernelArguments) -> Json:
    pull = task.pull()
    gpu_run.require_trusted_head(task, pull, wanted.sha)
    plan = gpu_run.plan_run(task, pull, wanted)
    settings = task.context.settings
    spent = task.context.records.reserve(
        GpuRun(**plan["run"]), settings.gpu_minutes_per_pull, settings.gpu_minutes_per_day
    )
    if spent is not None:
        limit = settings.gpu_minutes_per_pull if spent == "pull" else settings.gpu_minutes_per_day
        raise Refusal(f"kernels-budget-{spent}", minutes=plan["run"]["minutes"], limit=limit)
    return plan
