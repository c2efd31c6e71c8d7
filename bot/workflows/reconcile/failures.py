"""What makes good for workflows that ended in an error: they are ordered once more.

A step tries again what may pass, for some minutes; what is down for longer ends the workflow. It is
begun anew under another id with the same job: each of its steps looks first whether it has had its
effect, and what is marked on GitHub bears the job's own id, which stays.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

import structlog
from dbos import WorkflowStatus

from bot.context import metrics
from bot.context.service_context import ServiceContext
from bot.jobs.requests import JobRequest

_log = structlog.get_logger("specbot.reconcile")
_ENDED_BADLY = ["ERROR", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"]
# Seconds. What failed longer ago was for a moment that is over.
_WINDOW = 3 * 24 * 3600.0
# Seconds between an error and the first new attempt; each later one waits four times as long.
_FIRST_WAIT = 30.0
_MOST_ATTEMPTS = 5
_ATTEMPT = re.compile(r"^(?P<first>.*)~(?P<number>\d+)$", re.S)


def order_again(context: ServiceContext) -> None:
    """Order anew what ended in an error, and count what was given up."""
    now = context.store.now()
    since = datetime.fromtimestamp(now - _WINDOW, UTC).isoformat()
    client = context.store.client
    failed = client.list_workflows(status=_ENDED_BADLY, start_time=since, load_output=False)
    given_up = 0
    for workflow in failed:
        first, attempt = _attempt_in(workflow.workflow_id)
        if attempt >= _MOST_ATTEMPTS:
            given_up += 1
        elif _is_due(workflow, attempt, now):
            _order(context, workflow, f"{first}~{attempt + 1}")
    metrics.GIVEN_UP.set(given_up)


def _attempt_in(workflow_id: str) -> tuple[str, int]:
    """The id of the first attempt, and the number of this one."""
    again = _ATTEMPT.match(workflow_id)
    return (again["first"], int(again["number"])) if again else (workflow_id, 0)


def _is_due(workflow: WorkflowStatus, attempt: int, now: float) -> bool:
    ended = (workflow.updated_at or 0) / 1000
    wait = _FIRST_WAIT * float(4**attempt)
    return now - ended > wait


def _order(context: ServiceContext, workflow: WorkflowStatus, new_id: str) -> None:
    """The same work under a new id; ordering it twice is as once."""
    stored = workflow.input
    if stored is None or workflow.queue_name is None or context.store.has_workflow(new_id):
        return
    request = JobRequest(
        workflow=workflow.name,
        queue=workflow.queue_name,
        id=new_id,
        arguments=tuple(stored["args"]),
        partition=workflow.queue_partition_key or "",
    )
    context.store.enqueue(request)
    metrics.ORDERED_AGAIN.inc()
    _log.warning("ordered failed work again", workflow=new_id, name=workflow.name)
