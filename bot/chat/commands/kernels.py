"""`/kernels [job] [commit] [ops]`: the head's kernels against the base's on a GPU runner of the
repository; the job `device`: its device code on a CPU of one of our own workers."""

from __future__ import annotations

from typing import Any

from bot.chat import gpu_run, kernel_check
from bot.chat.context import Refusal, Task
from bot.chat.permissions import Permission
from bot.db.commands import GpuRun

Json = dict[str, Any]
NAME = "kernels"
USAGE = "[job] [commit] [ops]"
PERMISSION = Permission.WRITE


def run(task: Task) -> str:
    """Ask for the run. What comes of it replaces this answer when the run has ended."""
    arguments = gpu_run.parse_arguments(task.command.text)
    plan = task.step(f"plan {task.number}", lambda: _plan(task, arguments))
    sent = task.step(f"dispatch {task.number}", lambda: gpu_run.dispatch(task, plan, arguments))
    run = GpuRun(**plan["run"])
    task.step(f"check {task.number}", lambda: kernel_check.begin(task.context, task.job, run))
    answer = task.words(
        f"comments.{kernel_check.kind_of(run)}-sent",
        head=run.head[:12],
        base=run.base[:12],
        minutes=run.minutes,
        request=run.request,
    )
    if not sent["url"]:
        return answer
    link = task.context.words.style.link(task.words("comments.kernels-link"), sent["url"])
    return f"{answer}\n\n{link}"


def _plan(task: Task, arguments: gpu_run.KernelArguments) -> Json:
    """The run to ask for, whose minutes are reserved. Raises `Refusal`."""
    pull = task.pull()
    gpu_run.require_trusted_head(task, pull, arguments.sha)
    plan = gpu_run.plan_run(task, pull, arguments)
    run, settings = GpuRun(**plan["run"]), task.context.settings
    limits = {"pull": settings.gpu_minutes_per_pull, "day": settings.gpu_minutes_per_day}
    used_up = task.context.records.reserve(run, limits["pull"], limits["day"])
    if used_up is not None:
        raise Refusal(f"kernels-budget-{used_up}", minutes=run.minutes, limit=limits[used_up])
    return plan
