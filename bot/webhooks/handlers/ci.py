"""`check_run`, `check_suite`, `workflow_run`, `workflow_job` and `status`: something of a commit's CI has ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bot.jobs.ci import CommitCIJob
from bot.jobs.requests import JobRequest

_PARTS = ("check_run", "check_suite", "workflow_run", "workflow_job")
# Our own checks say how our reports ended, and no report is about them.
OWN_CHECKS = "specbot/"


def job_request(delivery: str, payload: Mapping[str, Any]) -> JobRequest | None:
    """A look at the pull requests of that commit. The events of one commit are gathered: hundreds of jobs may end
    within a minute."""
    head = _ended(payload)
    if head is None:
        return None
    repository = payload["repository"]
    return CommitCIJob(
        installation=int(payload["installation"]["id"]),
        repository_id=int(repository["id"]),
        repository=str(repository["full_name"]),
        head=head,
    ).order()


def _ended(payload: Mapping[str, Any]) -> str | None:
    """The commit on which something ended; None where nothing did."""
    part = next((name for name in _PARTS if name in payload), None)
    if part is None:
        return str(payload["sha"]) if payload["state"] != "pending" else None
    if payload["action"] != "completed" or str(payload[part].get("name") or "").startswith(
        OWN_CHECKS
    ):
        return None
    return str(payload[part]["head_sha"])
