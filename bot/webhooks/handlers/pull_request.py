"""`pull_request`: a review when there is something new to review, and a note when it is closed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bot.jobs.requests import ClosedJob, JobRequest, ReviewJob, account_id

_NEW_COMMITS = {"opened", "synchronize", "reopened", "ready_for_review"}
# Parts of a pull request that a review reads, besides its commits.
_REVIEWED_PARTS = {"title", "body", "base"}


def job_request(delivery: str, payload: Mapping[str, Any]) -> JobRequest | None:
    """A review of an open pull request that is no draft, when its commits, title or text changed; a
    note where it was closed."""
    pull, repository = payload["pull_request"], payload["repository"]
    if payload["action"] == "closed":
        return ClosedJob(
            id=f"closed-{delivery}",
            repository=str(repository["full_name"]),
            number=int(pull["number"]),
            merged=pull["merged_at"] is not None,
        ).request(account_id(pull))
    if not _is_new(payload) or pull["draft"] or pull["state"] != "open":
        return None
    return ReviewJob(
        id=f"review-{delivery}",
        installation=int(payload["installation"]["id"]),
        repository_id=int(repository["id"]),
        repository=str(repository["full_name"]),
        number=int(pull["number"]),
    ).request(account_id(pull))


def _is_new(payload: Mapping[str, Any]) -> bool:
    """Whether there is something that the last review did not see."""
    if payload["action"] in _NEW_COMMITS:
        return True
    if payload["action"] != "edited":
        return False
    return not _REVIEWED_PARTS.isdisjoint(payload.get("changes", {}))
