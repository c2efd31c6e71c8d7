"""How the steps of a workflow are tried again."""

from __future__ import annotations

from dbos import StepOptions

from bot.github import GitHubError, Limited, Unsure


def passing(error: BaseException) -> bool:
    """Whether the same request may succeed later."""
    if isinstance(error, Unsure | Limited):
        return True
    return isinstance(error, GitHubError) and (error.status == 0 or error.status >= 500)


# About four minutes in all.
RETRIES: StepOptions = {
    "retries_allowed": True,
    "interval_seconds": 1.0,
    "backoff_rate": 2.0,
    "max_attempts": 8,
    "should_retry": passing,
}
