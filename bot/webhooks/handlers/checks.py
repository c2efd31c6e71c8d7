"""`check_run` and `check_suite` that somebody wants run again, and `merge_group`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bot.github.check import NAME
from bot.jobs.commits import MergeGroupJob, ReviewAgainJob
from bot.jobs.requests import JobRequest
from bot.webhooks.handlers import ci


def check_run(delivery: str, payload: Mapping[str, Any]) -> JobRequest | None:
    """GitHub tells the App alone whose check run it is that somebody wants again."""
    if payload["action"] != "rerequested":
        return ci.job_request(delivery, payload)
    run = payload["check_run"]
    return _again(delivery, payload, run) if run["name"] == NAME else None


def check_suite(delivery: str, payload: Mapping[str, Any]) -> JobRequest | None:
    """The same of all checks of ours on a commit."""
    if payload["action"] != "rerequested":
        return ci.job_request(delivery, payload)
    return _again(delivery, payload, payload["check_suite"])


def _again(delivery: str, payload: Mapping[str, Any], part: Mapping[str, Any]) -> JobRequest:
    repository = payload["repository"]
    return ReviewAgainJob(
        id=f"again-{delivery}",
        installation=int(payload["installation"]["id"]),
        repository_id=int(repository["id"]),
        repository=str(repository["full_name"]),
        head=str(part["head_sha"]),
    ).request()


def merge_group(delivery: str, payload: Mapping[str, Any]) -> JobRequest | None:
    """A merge queue wants its commit checked."""
    if payload["action"] != "checks_requested":
        return None
    repository, group = payload["repository"], payload["merge_group"]
    head = str(group["head_sha"])
    return MergeGroupJob(
        id=f"group-{int(repository['id'])}-{head}",
        installation=int(payload["installation"]["id"]),
        repository_id=int(repository["id"]),
        repository=str(repository["full_name"]),
        head=head,
        target=str(group["base_ref"]).removeprefix("refs/heads/"),
    ).request()
