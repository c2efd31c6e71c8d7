"""How the steps of a workflow are tried again."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from dbos import DBOS, StepOptions

from bot.context.backoff import RetryLater
from bot.context.service_context import current_context
from bot.github import GitHubError, RateLimited, UncertainWrite

P = ParamSpec("P")
R = TypeVar("R")


def is_transient(error: BaseException) -> bool:
    """Whether the same request may succeed later."""
    if isinstance(error, UncertainWrite | RateLimited):
        return True
    return isinstance(error, GitHubError) and (error.status == 0 or error.status >= 500)


# About four minutes in all. What is still down after the last try is found by the reconcile loop.
RETRIES: StepOptions = {
    "retries_allowed": True,
    "interval_seconds": 1.0,
    "backoff_rate": 2.0,
    "max_attempts": 8,
    "should_retry": is_transient,
}


def step(act: Callable[P, R]) -> Callable[P, R]:
    """A step of a workflow."""
    return DBOS.step(**RETRIES)(yields_when_limited(act))


def yields_when_limited(act: Callable[P, R]) -> Callable[P, R]:
    """What a step does. Where it must wait, the workflow leaves its place, and comes back to this very step."""

    @wraps(act)
    def acting(*args: P.args, **named: P.kwargs) -> R:
        try:
            return act(*args, **named)
        except (RateLimited, RetryLater) as error:
            current_context().waiting.leave(str(DBOS.workflow_id), error.wait)

    return acting
