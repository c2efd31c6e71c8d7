"""`pull_request`: a review when there is something new to review, and a note when it is closed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bot.jobs.requests import ClosedJob, JobRequest, ReviewJob

_NEW = {"opened", "synchronize", "reopened", "ready_for_review"}


def job_request(delivery: str, payload: Mapping[str, Any]) -> JobRequest | None:
    """A review of an open pull request that is no draft, when its commits, title or text changed; a note where it was
    closed."""
    action, pull = payload["action"], payload["pull_request"]
    if action == "closed":
        repository, merged = str(payload["repository"]["full_name"]), pull["merged_at"] is not None
        return ClosedJob(f"closed-{delivery}", repository, int(pull["number"]), merged).order()
    changed = payload.get("changes", {}) if action == "edited" else {}
    if action not in _NEW and not {"title", "body", "base"} & set(changed):
        return None
    if pull["draft"] or pull["state"] != "open":
        return None
    repository = payload["repository"]
    return ReviewJob(
        id=f"review-{delivery}",
        installation=int(payload["installation"]["id"]),
        repository_id=int(repository["id"]),
        repository=str(repository["full_name"]),
        number=int(pull["number"]),
    ).order()
