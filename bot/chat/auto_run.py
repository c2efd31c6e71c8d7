"""GPU runs that nobody had to ask for: of jobs whose `paths` a pull request by people who may write touches."""

from __future__ import annotations

from bot.chat.comment_job import CommentJob
from bot.chat.gpu_run import is_head_trusted
from bot.chat.parser import MOST_COMMANDS
from bot.chat.permissions import METADATA
from bot.context.service_context import ServiceContext
from bot.github.app import ANALYSE
from bot.jobs.requests import ReviewJob


def begin(context: ServiceContext, order: ReviewJob, head: str, jobs: list[str]) -> None:
    """Order `jobs` for the commit `head`, once, as `/kernels` in a comment of its author would; the code of others
    waits for such a comment. Whether it is still the head, and who pushed it, is asked again right before."""
    pull = context.app.client(order.installation, order.repository_id, ANALYSE).get(
        order.place.path
    )
    client = context.app.client(order.installation, order.repository_id, METADATA)
    if pull["head"]["sha"] != head or not is_head_trusted(
        client, order.repository, order.repository_id, pull
    ):
        return
    author = pull["user"]
    asked = CommentJob(
        id=f"touched-{order.repository_id}-{order.number}-{head}",
        installation=order.installation,
        repository_id=order.repository_id,
        repository=order.repository,
        number=order.number,
        comment=0,
        created=str(pull["created_at"]),
        login=str(author["login"]),
        user=int(author["id"]),
        said=[["kernels", job] for job in jobs[:MOST_COMMANDS]],
        left_out=0,
    )
    context.store.enqueue(asked.order())
