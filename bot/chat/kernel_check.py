"""The check run of a run on a GPU, `specbot/kernels`, or of device code on a CPU,
`specbot/device`."""

from __future__ import annotations

from typing import Any

from bot.chat.comment_job import CommentJob
from bot.chat.gpu_run import DEVICE_WORKFLOW
from bot.comment_text import utf16_length
from bot.context.service_context import ServiceContext
from bot.db.commands import GpuRun

_CHECKS = {"checks": "write"}
# GitHub takes 65,535 units of summary.
_LARGEST = 60_000


def kind_of(run: GpuRun) -> str:
    """`kernels` or `device`: the second half of the check's name, and what is said begins so."""
    return "device" if run.workflow == DEVICE_WORKFLOW else "kernels"


def begin(context: ServiceContext, job: CommentJob, run: GpuRun) -> int:
    """The id of the check run for the request; made once, whoever asks again."""
    client = context.app.client(job.installation, job.repository_id, _CHECKS)
    path, name = f"/repos/{job.repository}", f"specbot/{kind_of(run)}"
    check_runs = client.pages(
        f"{path}/commits/{run.head}/check-runs",
        "check_runs",
        check_name=name,
        app_id=context.app.id,
        filter="all",
    )
    for check_run in check_runs:
        if check_run["external_id"] == run.request:
            return int(check_run["id"])
    text = context.words(f"comments.{kind_of(run)}-running")
    body: dict[str, Any] = {
        "name": name,
        "head_sha": run.head,
        "external_id": run.request,
        "status": "in_progress",
        "output": {"title": text, "summary": text},
    }
    return int(client.post(f"{path}/check-runs", body, key="id")["id"])


def finish(
    context: ServiceContext, job: CommentJob, run: GpuRun, conclusion: str, title: str, text: str
) -> None:
    """End it with GitHub's word for how it went, a title and the whole report."""
    client = context.app.client(job.installation, job.repository_id, _CHECKS)
    if utf16_length(text) > _LARGEST:
        text = context.words("comments.cut")
    output = {"title": title, "summary": text}
    path = f"/repos/{job.repository}/check-runs/{begin(context, job, run)}"
    client.patch(path, {"status": "completed", "conclusion": conclusion, "output": output})
