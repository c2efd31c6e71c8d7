"""`/ci`: the CI report, brought up to date now."""

from __future__ import annotations

import time

from bot.chat.context import Refusal, Task
from bot.chat.permissions import Permission
from bot.context.backoff import RetryLater
from bot.jobs.ci import PullCIJob
from bot.jobs.requests import account_id

NAME = "ci"
USAGE = ""
PERMISSION = Permission.READ
# Seconds that a report takes; one that waits ten minutes has many others before it.
_USUAL = 2.0
_PATIENCE = 600.0


def run(task: Task) -> str:
    """The report is a comment of its own, edited in place; the answer says where to look."""
    # Databases hold this step of versions before, which gave nothing.
    author = task.step(f"head {task.number}", lambda: _author_of_open(task)) or 0
    task.step(f"report {task.number}", lambda: _wait_for_report(task, author))
    return task.words("comments.ci-done")


def _author_of_open(task: Task) -> int:
    """Who opened the pull request. Raises `Refusal` where it is closed."""
    if task.command.text:
        raise Refusal("no-arguments", name=NAME)
    return account_id(task.pull())


def _wait_for_report(task: Task, author: int) -> None:
    """Order the report and wait for it.

    It waits for other reports on the pull request, such as those that events bring: two at a time
    could both write the comment. Raises `RetryLater` where it takes longer than usual.
    """
    job, store = task.job, task.context.store
    pull = PullCIJob(job.installation, job.repository_id, job.repository, job.number)
    request = pull.request(task.id, author)
    store.enqueue(request)
    deadline = time.monotonic() + _USUAL
    while store.is_running(request.id) and time.monotonic() < deadline:
        time.sleep(0.25)
    is_running = store.is_running(request.id)
    (workflow,) = store.client.list_workflows(workflow_ids=[request.id])
    waited = store.now() - (workflow.created_at or 0) / 1000
    if is_running and waited > _PATIENCE:
        raise Refusal("ci-waits")
    if is_running:
        raise RetryLater(_USUAL)
    if workflow.status != "SUCCESS":
        raise Refusal("failed", order=request.id)
