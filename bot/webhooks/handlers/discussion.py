"""`pull_request_review`, `pull_request_review_comment`, `pull_request_review_thread`, and an
`issue_comment` without commands: people went on discussing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bot.jobs.requests import DiscussionJob, JobRequest, account_id


def job_request(delivery: str, payload: Mapping[str, Any]) -> JobRequest | None:
    """The page's discussion anew.

    What people do shortly after each other is batched; an App, this one too, discusses nothing.
    """
    pull = payload.get("pull_request") or payload["issue"]
    if payload["sender"]["type"] == "Bot" or pull["state"] != "open":
        return None
    repository = payload["repository"]
    return DiscussionJob(
        installation=int(payload["installation"]["id"]),
        repository_id=int(repository["id"]),
        repository=str(repository["full_name"]),
        number=int(pull["number"]),
    ).request(account_id(pull))
