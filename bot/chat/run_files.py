"""The artifact of a GPU run, from GitHub."""

from __future__ import annotations

from bot.chat.comment_job import CommentJob
from bot.context.retries import is_transient
from bot.context.service_context import ServiceContext
from bot.db.commands import GpuRun
from bot.github import GitHubError
from bot.github.app import READ_CI
from bot.github.download import artifact

_LARGEST = 128 << 20


def artifact_name(run: GpuRun) -> str:
    """What the workflow calls it."""
    return f"kernels-{run.request}"


def _download(context: ServiceContext, order: CommentJob, run: GpuRun) -> bytes | None:
    token = context.app.token(order.installation, order.repository_id, READ_CI)
    client = context.app.client(order.installation, order.repository_id, READ_CI)
    path = f"/repos/{order.repository}/actions/runs/{run.run}/artifacts"
    for one in client.pages(path, "artifacts"):
        if one["name"] == artifact_name(run) and not one["expired"]:
            return artifact(
                context.app.endpoint.api, token, order.repository, int(one["id"]), _LARGEST
            )
    return None


def download_artifact(context: ServiceContext, order: CommentJob, run: GpuRun) -> bytes | None:
    """The zip file, None where the run left none, or none any more; empty, which is no zip file, where GitHub does not
    give it and is not going to. Raises `GitHubError` where it may yet."""
    try:
        return _download(context, order, run)
    except GitHubError as error:
        if is_transient(error):
            raise
        return b""
