"""`/ci`: the CI report, brought up to date now."""

from __future__ import annotations

import time

from bot.chat.context import Refusal, Task
from bot.chat.permissions import Permission
from bot.context.backoff import RetryLater
from bot.jobs.ci import PullCIJob

NAME = "ci"
USAGE = ""
LEVEL = Permission.READ
# Seconds that a report takes; one that waits ten minutes has many others before it.
_USUAL = 2.0
_PATIENCE = 600.0


def run(task: Task) -> str:
    """The report is a comment of its own, edited in place; the answer says where to look."""
    task.step(f"head {task.number}", lambda: _wanted(task))
    task.step(f"report {task.number}", lambda: _reported(task))
    return task.words("comments.ci-done")


def _wanted(task: Task) -> None:
    if task.said.text:
        raise Refusal("no-arguments", name=NAME)
    task.pull()


def _reported(task: Task) -> None:
    """One report after another, those that events bring included: two at a time could both write the comment."""
    asked, store = task.order, task.context.store
    order = PullCIJob(
        asked.installation, asked.repository_id, asked.repository, asked.number
    ).order(task.id)
    store.enqueue(order)
    end = time.monotonic() + _USUAL
    while store.is_running(order.id) and time.monotonic() < end:
        time.sleep(0.25)
    runs = store.is_running(order.id)
    (found,) = store.client.list_workflows(workflow_ids=[order.id])
    if runs and time.time() - (found.created_at or 0) / 1000 > _PATIENCE:
        raise Refusal("ci-waits")
    if runs:
        raise RetryLater(_USUAL)
    if found.status != "SUCCESS":
        raise Refusal("failed", order=order.id)
