"""How the steps of a workflow are tried again."""

from __future__ import annotations

import errno
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import sqlalchemy as sa
from dbos import DBOS, StepOptions

from bot.context.backoff import RetryLater
from bot.context.service_context import current_context
from bot.db.claims import current_claim
from bot.db.engine import is_database_away
from bot.github import UNPROCESSABLE, GitHubError, RateLimited, UncertainWrite

# No space, no quota, too many open files: others may make room.
_PASSING = (errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM)
P = ParamSpec("P")
R = TypeVar("R")


def is_transient(error: BaseException) -> bool:
    """Whether the same may succeed later: GitHub was away, or the database, or the disk was
    full."""
    if isinstance(error, UncertainWrite | RateLimited):
        return True
    if isinstance(error, sa.exc.SQLAlchemyError):
        return is_database_away(error)
    if isinstance(error, OSError):
        return error.errno in _PASSING
    if not isinstance(error, GitHubError):
        return False
    return error.status == 0 or error.status >= 500


def may_be_taken_later(error: BaseException) -> bool:
    """What may pass, and GitHub's 422: it answers a comment or a review so also where too many came
    at once, "Validation failed, or the endpoint has been spammed" (REST API)."""
    is_spam = isinstance(error, GitHubError) and error.status == UNPROCESSABLE
    return is_spam or is_transient(error)


# About four minutes in all. What is still down after the last try is found by the reconcile loop.
RETRIES: StepOptions = {
    "retries_allowed": True,
    "interval_seconds": 1.0,
    "backoff_rate": 2.0,
    "max_attempts": 8,
    "should_retry": is_transient,
}


def step(function: Callable[P, R]) -> Callable[P, R]:
    """Make `function` a step of a workflow, under its own name."""
    return DBOS.step(**RETRIES)(yields_when_limited(function))


def posting_step(function: Callable[P, R]) -> Callable[P, R]:
    """The same for a step that posts what people read."""
    options: StepOptions = {**RETRIES, "should_retry": may_be_taken_later}
    return DBOS.step(**options)(yields_when_limited(function))


def step_named(name: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """The same under another name.

    A database holds the names of the steps that were done; a step whose function was renamed keeps
    the name that databases know.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        options: StepOptions = {**RETRIES, "name": name}
        return DBOS.step(**options)(yields_when_limited(function))

    return decorate


def yields_when_limited(function: Callable[P, R]) -> Callable[P, R]:
    """Where a step must wait, the workflow leaves its place, and comes back to this very step."""

    @wraps(function)
    def run(*args: P.args, **named: P.kwargs) -> R:
        try:
            return function(*args, **named)
        except (RateLimited, RetryLater) as error:
            current_context().backoff.leave(current_claim(), error.wait)

    return run
