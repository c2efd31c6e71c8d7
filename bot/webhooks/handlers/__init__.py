"""What each webhook asks for: one module an event, a pure function of the payload.

A module has `job_request(delivery, payload)`, which gives the work or None where there is none. It
may raise `KeyError` or `TypeError` on a payload that is not GitHub's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bot.jobs.requests import JobRequest
from bot.webhooks.handlers import (
    access,
    checks,
    ci,
    comments,
    discussion,
    kernel_runs,
    pull_request,
)

Handler = Callable[[str, Mapping[str, Any]], JobRequest | None]


def _workflow_run(delivery: str, payload: Mapping[str, Any]) -> JobRequest | None:
    """The end of a run may be of one that we asked for, else it is a part of CI."""
    kernel_run = kernel_runs.job_request(delivery, payload)
    return kernel_run or ci.job_request(delivery, payload)


# GitHub sends these to every App; they cannot be asked for.
ALWAYS_SENT = frozenset({"installation", "installation_repositories"})
HANDLERS: Mapping[str, Handler] = {
    "check_run": checks.check_run,
    "check_suite": checks.check_suite,
    "installation": access.installation,
    "installation_repositories": access.installation_repositories,
    "issue_comment": comments.job_request,
    "merge_group": checks.merge_group,
    "pull_request": pull_request.job_request,
    "pull_request_review": discussion.job_request,
    "pull_request_review_comment": discussion.job_request,
    "pull_request_review_thread": discussion.job_request,
    "repository": access.repository,
    "status": ci.job_request,
    "workflow_job": ci.job_request,
    "workflow_run": _workflow_run,
}
