"""What each webhook asks for: one module an event, a pure function of the payload.

A module has `order(delivery, payload)`, which gives the work or None where there is none. It may raise `KeyError` or
`TypeError` on a payload that is not GitHub's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bot.jobs.requests import Order
from bot.webhooks.handlers import ci, comments, discussion, kernel_runs, pull_request

Handler = Callable[[str, Mapping[str, Any]], Order | None]


def _workflow_run(delivery: str, payload: Mapping[str, Any]) -> Order | None:
    return kernel_runs.order(delivery, payload) or ci.order(delivery, payload)


HANDLERS: Mapping[str, Handler] = {
    "check_run": ci.order,
    "check_suite": ci.order,
    "issue_comment": comments.order,
    "pull_request": pull_request.order,
    "pull_request_review": discussion.order,
    "pull_request_review_comment": discussion.order,
    "pull_request_review_thread": discussion.order,
    "status": ci.order,
    "workflow_job": ci.order,
    "workflow_run": _workflow_run,
}
