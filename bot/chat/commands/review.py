"""`/review`: the review again, of the commit that is the head now."""

from __future__ import annotations

from typing import Any

from bot.chat.context import Refusal, Task
from bot.chat.permissions import Permission
from bot.jobs.requests import ReviewJob, account_id

NAME = "review"
USAGE = ""
PERMISSION = Permission.READ


def run(task: Task) -> str:
    """Order the review; its check run and the review itself say what came of it."""
    found = task.step(f"head {task.number}", lambda: _head(task))
    # A database may hold this step as it was written down before: the commit alone.
    head, author = (found, 0) if isinstance(found, str) else found
    job = task.job
    review = ReviewJob(
        f"review-{task.id}", job.installation, job.repository_id, job.repository, job.number
    )
    task.step(f"order {task.number}", lambda: task.context.store.enqueue(review.request(author)))
    return task.words("comments.reviewing", head=head[:12])


def _head(task: Task) -> Any:
    """The commit to review and the account whose pull request it is.

    Raises `Refusal` where there is nothing to review.
    """
    if task.command.text:
        raise Refusal("no-arguments", name=NAME)
    pull = task.pull()
    if pull["draft"]:
        raise Refusal("draft")
    return [str(pull["head"]["sha"]), account_id(pull)]
