"""The durable answer to a comment's commands: each done once, each answered once, whoever dies in between."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import structlog
from dbos import DBOS, StepOptions

from bot.chat import reply
from bot.chat.commands import COMMANDS
from bot.chat.comment_job import CommentJob
from bot.chat.context import Refusal, Task
from bot.chat.parser import MOST_COMMANDS
from bot.context import metrics
from bot.context.retries import RETRIES, yields_when_limited
from bot.context.service_context import current_context
from bot.github import GitHubError
from bot.github.app import COMMENT

Json = dict[str, Any]
T = TypeVar("T")
_log = structlog.get_logger("specbot.comments")


@DBOS.workflow(name="comment")
def answer_comment(stored: Json) -> str:
    """Do and answer the commands of a stored `CommentOrder`, in their order; gives how each ended."""
    order = CommentJob(**stored)
    about = {"workflow": order.id, "pull": f"{order.repository}#{order.number}", "by": order.login}
    ended = []
    with structlog.contextvars.bound_contextvars(**about):
        if order.comment:
            _said(order, len(order.said), "eyes", lambda: reply.react(_client(order), order))
        spoken = step("spoken", lambda: _spoken(order))
        for number, said in enumerate(order.commands):
            outcome, text = _done(Task(order, number, said, current_context(), step), spoken)
            ended.append(outcome if _answer(order, number, text, outcome) else "unanswered")
        if order.left_out:
            _answer(
                order,
                len(order.said),
                current_context().words(
                    "comments.too-many", most=MOST_COMMANDS, left=order.left_out
                ),
                "",
            )
    return " ".join(ended)


def _spoken(order: CommentJob) -> int:
    return current_context().records.count_commands(
        order.id, order.repository_id, order.user, len(order.said)
    )


def _done(task: Task, spoken: int) -> tuple[str, str]:
    """How the command ended, and what to answer. `spoken` are the commands of its author in the last hour."""
    command, most = COMMANDS[task.said.name], task.context.settings.commands_per_hour
    try:
        if spoken > most:
            raise Refusal("too-often", most=most)
        step(f"may {task.number}", lambda: task.needs(command.LEVEL))
        return "done", command.run(task)
    except Refusal as refusal:
        return "refused", task.words(f"comments.{refusal.key}", **refusal.args_)
    except Exception as error:
        # The edge of this process for a command: DBOS would keep the error to itself, and its author would wait.
        _log.error(
            "command failed",
            command=task.said.name,
            error=str(error),
            exc_info=not isinstance(error, GitHubError),
        )
        return "failed", task.words("comments.failed", order=task.id)


def _answer(order: CommentJob, number: int, text: str, outcome: str) -> bool:
    context = current_context()
    body = reply.format_answer(order, number, text, context.words("comments.cut"))

    def act() -> None:
        reply.post(context.app, _client(order), order, number, body)
        if outcome:
            # Here, and not in the workflow, which is gone through anew whenever it comes back.
            name = order.commands[number].name
            metrics.COMMANDS.labels(name, outcome).inc()
            _log.info("command ended", command=name, outcome=outcome)

    return _said(order, number, "answer", act)


def _said(order: CommentJob, number: int, what: str, act: Callable[[], None]) -> bool:
    """Say something on GitHub; False where it does not take it, such as on a conversation that is locked."""
    try:
        step(f"{what} {number}", act)
    except Exception as error:
        _log.error("could not be said", what=what, number=number, error=str(error))
        return False
    return True


def step(name: str, act: Callable[[], T]) -> T:
    """`Steps` as DBOS has them. A refusal is a result like any other."""

    def recorded() -> Json:
        try:
            return {"made": act()}
        except Refusal as refusal:
            return {"key": refusal.key, "args": refusal.args_}

    options: StepOptions = {**RETRIES, "name": name}
    made: Json = DBOS.run_step(options, yields_when_limited(recorded))
    if "key" in made:
        raise Refusal(made["key"], **made["args"])
    value: T = made["made"]
    return value


def _client(order: CommentJob) -> Any:
    return current_context().app.client(order.installation, order.repository_id, COMMENT)
