"""`/ci`: the CI report, brought up to date now."""

from __future__ import annotations

from bot.ci.publish import CIPull, report_on
from bot.comments.task import Refusal, Task
from bot.comments.who import Level

NAME = "ci"
USAGE = ""
LEVEL = Level.READ


def run(task: Task) -> str:
    """The report is a comment of its own, edited in place; the answer says where to look."""
    task.step(f"head {task.number}", lambda: _wanted(task))
    order = task.order
    pull = CIPull(order.installation, order.repository_id, order.repository, order.number)
    task.step(f"report {task.number}", lambda: report_on(pull))
    return task.words("comments.ci-done")


def _wanted(task: Task) -> None:
    if task.said.text:
        raise Refusal("no-arguments", name=NAME)
    task.pull()
