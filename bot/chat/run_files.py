"""The artifact of a GPU run, from GitHub."""

from __future__ import annotations

from bot.chat.comment_job import CommentOrder
from bot.context.retries import passing
from bot.context.service_context import Machine
from bot.db.commands import GpuRun
from bot.github import GitHubError
from bot.github.app import READ_CI
from bot.github.download import artifact

_LARGEST = 128 << 20


def name(run: GpuRun) -> str:
    """What the workflow calls it."""
    return f"kernels-{run.request}"


def _download(here: Machine, order: CommentOrder, run: GpuRun) -> bytes | None:
    token = here.app.token(order.installation, order.repository_id, READ_CI)
    client = here.app.client(order.installation, order.repository_id, READ_CI)
    path = f"/repos/{order.repository}/actions/runs/{run.run}/artifacts"
    for one in client.pages(path, "artifacts"):
        if one["name"] == name(run) and not one["expired"]:
            return artifact(
                here.app.endpoint.api, token, order.repository, int(one["id"]), _LARGEST
            )
    return None


def readable(here: Machine, order: CommentOrder, run: GpuRun) -> bytes | None:
    """The zip file, None where the run left none, or none any more; empty, which is no zip file, where GitHub does not
    give it and is not going to. Raises `GitHubError` where it may yet."""
    try:
        return _download(here, order, run)
    except GitHubError as error:
        if passing(error):
            raise
        return b""
