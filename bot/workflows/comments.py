"""The durable answer to a comment's commands: each done once, each answered once, whichever worker
dies in between."""

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
from bot.context.retries import RETRIES, is_transient, may_be_taken_later, yields_when_limited
from bot.context.service_context import current_context
from bot.db.rate_limits import charged_to
from bot.github import Client, GitHubError
from bot.github.app import COMMENT

Json = dict[str, Any]
T = TypeVar("T")
_log = structlog.get_logger("specbot.comments")


@DBOS.workflow(name="comment")
def answer_comment(stored: Json) -> str:
    """Do and answer the commands of a stored `CommentJob`, in their order; gives how each ended."""
    if current_context().settings.posting == "shadow":
        return "shadow"
    job = CommentJob(**stored)
    about = {"workflow": job.id, "pull": f"{job.repository}#{job.number}", "by": job.login}
    outcomes = []
    charged = charged_to(job.user, job.repository)
    with structlog.contextvars.bound_contextvars(**about), charged:
        if job.comment:
            _write(job, len(job.said), "eyes", lambda: reply.react(_client(job), job))
        # The name under which databases know this step.
        recent = step("spoken", lambda: _count_commands(job))
        for number, command in enumerate(job.commands):
            task = Task(job, number, command, current_context(), step)
            outcome, text = _run_command(task, recent)
            answered = _answer(job, number, text, outcome)
            outcomes.append(outcome if answered else "unanswered")
        if job.left_out:
            words = current_context().words
            text = words("comments.too-many", most=MOST_COMMANDS, left=job.left_out)
            _answer(job, len(job.said), text, "")
    return " ".join(outcomes)


def _count_commands(job: CommentJob) -> int:
    """How many commands the author gave in the last hour, these among them."""
    records = current_context().records
    return records.count_commands(job.id, job.repository_id, job.user, len(job.said))


def _run_command(task: Task, recent: int) -> tuple[str, str]:
    """How the command ended, and what to answer. `recent` are the author's commands of the last
    hour."""
    command = COMMANDS[task.command.name]
    most = task.context.settings.commands_per_hour
    try:
        if recent > most:
            raise Refusal("too-often", most=most)
        step(f"may {task.number}", lambda: task.require(command.PERMISSION))
        return "done", command.run(task)
    except Refusal as refusal:
        return "refused", task.words(f"comments.{refusal.key}", **refusal.args_)
    except Exception as error:
        # The edge of this process for a command: DBOS would keep the error to itself, and its
        # author would wait.
        ours = not isinstance(error, GitHubError)
        _log.error("command failed", command=task.command.name, error=str(error), exc_info=ours)
        return "failed", task.words("comments.failed", order=task.id)


def _answer(job: CommentJob, number: int, text: str, outcome: str) -> bool:
    context = current_context()
    body = reply.format_answer(job, number, text, context.words("comments.cut"))

    def act() -> None:
        reply.post(context.app, _client(job), job, number, body)
        if outcome:
            # Here, and not in the workflow, which is gone through anew whenever it comes back.
            name = job.commands[number].name
            metrics.COMMANDS.labels(name, outcome).inc()
            _log.info("command ended", command=name, outcome=outcome)

    return _write(job, number, "answer", act)


def _write(job: CommentJob, number: int, what: str, act: Callable[[], None]) -> bool:
    """Write something to GitHub; False where it does not take it, such as on a conversation that is
    locked."""
    try:
        step(f"{what} {number}", act, may_be_taken_later)
    except Exception as error:
        _log.error("could not be said", what=what, number=number, error=str(error))
        return False
    return True


def step(
    name: str, act: Callable[[], T], should_retry: Callable[[BaseException], bool] = is_transient
) -> T:
    """`Steps` as DBOS has them. A refusal is a result like any other."""

    def recorded() -> Json:
        # The names are those of the steps that databases hold.
        try:
            return {"made": act()}
        except Refusal as refusal:
            return {"key": refusal.key, "args": refusal.args_}

    options: StepOptions = {**RETRIES, "name": name, "should_retry": should_retry}
    result: Json = DBOS.run_step(options, yields_when_limited(recorded))
    if "key" in result:
        raise Refusal(result["key"], **result["args"])
    value: T = result["made"]
    return value


def _client(job: CommentJob) -> Client:
    return current_context().app.client(job.installation, job.repository_id, COMMENT)
