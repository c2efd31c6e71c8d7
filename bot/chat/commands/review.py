"""`/review`: the review again, of the commit that is the head now."""

from __future__ import annotations

from bot.chat.context import Refusal, Task
from bot.chat.permissions import Permission
from bot.jobs.requests import ReviewJob

NAME = "review"
USAGE = ""
LEVEL = Permission.READ


def run(task: Task) -> str:
    """Order the review; its check run and the review itself say what came of it."""
    head = task.step(f"head {task.number}", lambda: _head(task))
    order = task.order
    wanted = ReviewJob(
        f"review-{task.id}", order.installation, order.repository_id, order.repository, order.number
    )
    task.step(f"order {task.number}", lambda: task.context.store.enqueue(wanted.order()))
    return task.words("comments.reviewing", head=head[:12])


def _head(task: Task) -> str:
    if task.said.text:
        raise Refusal("no-arguments", name=NAME)
    pull = task.pull()
    if pull["draft"]:
        raise Refusal("draft")
    return str(pull["head"]["sha"])
