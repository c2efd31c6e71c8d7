"""`check_run` and `check_suite` that somebody wants run again, and `merge_group`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from bot.ci.merge_queue import queue_target
from bot.github.check import NAME
from bot.jobs.commits import MergeGroupJob, ReviewAgainJob
from bot.jobs.requests import JobRequest
from bot.webhooks.handlers import ci


def check_run(delivery: str, payload: Mapping[str, Any]) -> JobRequest | None:
    """GitHub tells the App alone whose check run it is that somebody wants again."""
    if payload["action"] != "rerequested":
        return ci.job_request(delivery, payload)
    run = payload["check_run"]
    if run["name"] != NAME:
        return None
    return _again(delivery, payload, run["head_sha"], run["check_suite"].get("head_branch"))


def check_suite(delivery: str, payload: Mapping[str, Any]) -> JobRequest | None:
    """The same of all checks of ours on a commit."""
    if payload["action"] != "rerequested":
        return ci.job_request(delivery, payload)
    suite = payload["check_suite"]
    return _again(delivery, payload, suite["head_sha"], suite.get("head_branch"))


def _again(delivery: str, payload: Mapping[str, Any], head: str, branch: str | None) -> JobRequest:
    """What was checked, again: the pull requests of the commit, or what a queue made on its
    branch."""
    repository = payload["repository"]
    job = ReviewAgainJob(
        id=f"again-{delivery}",
        installation=int(payload["installation"]["id"]),
        repository_id=int(repository["id"]),
        repository=str(repository["full_name"]),
        head=str(head),
    )
    target = queue_target(str(branch or ""))
    if target is None:
        return job.request()
    return MergeGroupJob(**asdict(job), target=target).request()


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
