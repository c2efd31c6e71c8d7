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


def download_artifact(context: ServiceContext, job: CommentJob, run: GpuRun) -> bytes | None:
    """The zip file; None where the run left none, or none any more.

    Empty, which is no zip file, where GitHub does not give it and is not going to. Raises
    `GitHubError` where it may yet.
    """
    try:
        return _download(context, job, run)
    except GitHubError as error:
        if is_transient(error):
            raise
        return b""


def _download(context: ServiceContext, job: CommentJob, run: GpuRun) -> bytes | None:
    token = context.app.token(job.installation, job.repository_id, READ_CI)
    client = context.app.client(job.installation, job.repository_id, READ_CI)
    path = f"/repos/{job.repository}/actions/runs/{run.run}/artifacts"
    for listed in client.pages(path, "artifacts"):
        if listed["name"] == artifact_name(run) and not listed["expired"]:
            api = context.app.endpoint.api
            return artifact(api, token, job.repository, int(listed["id"]), _LARGEST)
    return None
