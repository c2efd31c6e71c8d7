"""GPU runs that nobody had to ask for: of jobs whose `paths` are touched by a pull request of
people who may write to the repository."""

from __future__ import annotations

from bot.chat.comment_job import CommentJob
from bot.chat.gpu_run import is_head_trusted
from bot.chat.parser import MOST_COMMANDS
from bot.chat.permissions import METADATA
from bot.context.service_context import ServiceContext
from bot.github.app import ANALYSE
from bot.jobs.requests import ReviewJob


def begin(context: ServiceContext, review: ReviewJob, head: str, gpu_jobs: list[str]) -> None:
    """Order `gpu_jobs` for the commit `head`, once, as `/kernels` in a comment of its author would.

    The code of others waits for such a comment. Whether it is still the head, and who pushed it, is
    asked again right before.
    """
    app = context.app
    pull = app.client(review.installation, review.repository_id, ANALYSE).get(review.place.path)
    if pull["head"]["sha"] != head:
        return
    client = app.client(review.installation, review.repository_id, METADATA)
    if not is_head_trusted(client, review.repository, review.repository_id, pull):
        return
    author = pull["user"]
    job = CommentJob(
        id=f"touched-{review.repository_id}-{review.number}-{head}",
        installation=review.installation,
        repository_id=review.repository_id,
        repository=review.repository,
        number=review.number,
        comment=0,
        created=str(pull["created_at"]),
        login=str(author["login"]),
        user=int(author["id"]),
        said=[["kernels", name] for name in gpu_jobs[:MOST_COMMANDS]],
        left_out=0,
    )
    context.store.enqueue(job.request())
