"""`check_run`, `check_suite`, `workflow_run`, `workflow_job` and `status`: something of a commit's
CI has ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bot.jobs.ci import CommitCIJob
from bot.jobs.requests import JobRequest

_PARTS = ("check_run", "check_suite", "workflow_run", "workflow_job")
# Our own checks say how our reports ended, and no report is about them.
OWN_CHECKS = "specbot/"


def job_request(delivery: str, payload: Mapping[str, Any]) -> JobRequest | None:
    """A look at the pull requests of that commit.

    The events of one commit are batched: hundreds of jobs may end within a minute.
    """
    head = _commit_with_end(payload)
    if head is None:
        return None
    repository = payload["repository"]
    return CommitCIJob(
        installation=int(payload["installation"]["id"]),
        repository_id=int(repository["id"]),
        repository=str(repository["full_name"]),
        head=head,
        branch=_branch(payload),
    ).request(_person(payload))


def _person(payload: Mapping[str, Any]) -> int:
    """Who had the CI run; 0 where an App says that it ended, which does so for everybody."""
    sender = payload.get("sender") or {}
    return int(sender["id"]) if sender.get("type") == "User" else 0


def _branch(payload: Mapping[str, Any]) -> str:
    """The commit's branch, empty where the event does not say."""
    for part in _PARTS:
        if part in payload:
            named = payload[part].get("head_branch")
            suite = payload[part].get("check_suite") or {}
            return str(named or suite.get("head_branch") or "")
    branches = payload.get("branches") or [{}]
    return str(branches[0].get("name") or "")


def _commit_with_end(payload: Mapping[str, Any]) -> str | None:
    """The commit on which something ended; None where nothing did."""
    for part in _PARTS:
        if part in payload:
            return _commit_of_part(payload, payload[part])
    # A status has no part of its own.
    if payload["state"] == "pending":
        return None
    return str(payload["sha"])


def _commit_of_part(payload: Mapping[str, Any], part: Mapping[str, Any]) -> str | None:
    name = str(part.get("name") or "")
    if payload["action"] != "completed" or name.startswith(OWN_CHECKS):
        return None
    return str(part["head_sha"])
