"""What makes good for lost webhooks: open pull requests are looked at."""

from __future__ import annotations

import time
from datetime import datetime
from typing import Any

import structlog

from bot.context.service_context import ServiceContext
from bot.db.deliveries import PullKey
from bot.github import GitHubError
from bot.github.app import ANALYSE
from bot.jobs.requests import ReviewJob, account_id
from bot.workflows.reconcile import ci, comments

Json = dict[str, Any]
_log = structlog.get_logger("specbot.reconcile")


def enqueue_missed(context: ServiceContext) -> None:
    """Order what no webhook brought.

    That is a review of every open pull request whose head is not the one that was last reported, a
    CI report of every one whose checks have gone on since, and the commands of comments.
    """
    for installation in context.app.itself.pages("/app/installations"):
        if installation["suspended_at"] is not None:
            continue
        try:
            _look_at_installation(context, int(installation["id"]))
        except GitHubError as error:
            _log.warning(
                "an installation could not be looked at",
                installation=installation["id"],
                error=str(error),
            )


def _look_at_installation(context: ServiceContext, installation: int) -> None:
    listing = context.app.listing(installation)
    for repository in listing.pages("/installation/repositories", "repositories"):
        client = context.app.client(installation, int(repository["id"]), ANALYSE)
        path = f"/repos/{repository['full_name']}/pulls"
        for pull in client.pages(path, state="open", sort="updated", direction="desc"):
            if _moment(pull["updated_at"]) < context.store.since:
                break
            _look_at_pull(context, installation, repository, pull)
        comments.enqueue_missed(context, installation, repository)
        ci.enqueue_missed(context, installation, repository)


def _look_at_pull(context: ServiceContext, installation: int, repository: Json, pull: Json) -> None:
    store = context.store
    key = PullKey(int(repository["id"]), int(pull["number"]))
    head = str(pull["head"]["sha"])
    if pull["draft"] or store.reported_head(key) == head or store.has_running(key):
        return
    # The same head is ordered once; hours later, when that request failed, once more.
    hour = int(time.time() // 3600)
    job = ReviewJob(
        id=f"reconcile-{key.repository_id}-{key.number}-{head[:16]}-{hour}",
        installation=installation,
        repository_id=key.repository_id,
        repository=str(repository["full_name"]),
        number=key.number,
    )
    store.enqueue(job.request(account_id(pull)))
    place = f"{job.repository}#{job.number}"
    _log.info("ordered a review that no webhook brought", pull=place, head=head)


def _moment(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
