"""`/review`: the review again, of the commit that is the head now."""

from __future__ import annotations

from bot.chat.context import Refusal, Task
from bot.chat.permissions import Permission
from bot.jobs.requests import ReviewJob

NAME = "review"
USAGE = ""
PERMISSION = Permission.READ


def run(task: Task) -> str:
    """Order the review; its check run and the review itself say what came of it."""
    head = task.step(f"head {task.number}", lambda: _head(task))
    job = task.job
    review = ReviewJob(
        f"review-{task.id}", job.installation, job.repository_id, job.repository, job.number
    )
    task.step(f"order {task.number}", lambda: task.context.store.enqueue(review.request()))
    return task.words("comments.reviewing", head=head[:12])


def _head(task: Task) -> str:
    """The commit to review. Raises `Refusal` where there is nothing to review."""
    if task.command.text:
        raise Refusal("no-arguments", name=NAME)
    pull = task.pull()
    if pull["draft"]:
        raise Refusal("draft")
    return str(pull["head"]["sha"])
