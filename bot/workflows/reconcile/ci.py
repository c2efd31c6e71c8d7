"""What makes good for lost events of CI: checks that ended after the last report, and heads that have none."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import structlog

from bot.ci.history import History
from bot.context.service_context import ServiceContext
from bot.github import GitHubError
from bot.github.app import READ_CI
from bot.github.client import Client
from bot.jobs.ci import PullCIJob
from bot.webhooks.handlers.ci import OWN_CHECKS

Json = dict[str, Any]
_log = structlog.get_logger("specbot.reconcile")
_CHECKS = """
query ($owner: String!, $name: String!, $after: String) {
  repository(owner: $owner, name: $name) {
    pullRequests(first: 50, after: $after, states: [OPEN], orderBy: {field: UPDATED_AT, direction: DESC}) {
      nodes { number headRefOid updatedAt
        commits(last: 1) { nodes { commit { statusCheckRollup { contexts(first: 100) { nodes {
          __typename
          ... on CheckRun { name completedAt }
          ... on StatusContext { state createdAt } } } } } } } }
      pageInfo { hasNextPage endCursor } } } }
"""
# GitHub's clock and ours differ, and its API is behind its events: an ended check may have been read as running.
_BEHIND = 60.0
# A head without any check by then may wait for one that never comes, which is worth a report.
_SILENT = 300.0


def enqueue_missed(context: ServiceContext, installation: int, repository: Json) -> None:
    """Order a report on every open pull request of the repository that has news."""
    history = History(context.store.engine)
    here = installation, int(repository["id"]), str(repository["full_name"])
    try:
        for node in _open(context.app.client(*here[:2], READ_CI), here[2], context.store.since):
            pull = PullCIJob(*here, int(node["number"]))
            news = _news(node, *history.looked(pull.repository, pull.number))
            if news:
                # What fails is tried again an hour later, and not at every look.
                context.store.enqueue(pull.order(f"missed-{news}-{int(time.time() // 3600)}"))
                _log.info(
                    "ordered a CI report that no event brought",
                    pull=f"{pull.repository}#{pull.number}",
                )
    except GitHubError as error:
        _log.warning("checks could not be looked at", repository=here[2], error=str(error))


def _open(client: Client, repository: str, since: float) -> Iterator[Json]:
    """The open pull requests that were touched `since` then, the last touched first."""
    owner, name = repository.split("/")
    after: str | None = None
    while True:
        listed = client.graphql(_CHECKS, {"owner": owner, "name": name, "after": after})[
            "repository"
        ]["pullRequests"]
        for node in listed["nodes"]:
            if _moment(node["updatedAt"]) < since:
                return
            yield node
        if not listed["pageInfo"]["hasNextPage"]:
            return
        after = listed["pageInfo"]["endCursor"]


def _news(node: Json, head: str, at: float) -> str:
    """What the last report, on `head` and made `at`, does not know yet: the same name for the same news, or nothing."""
    commit, ended = str(node["headRefOid"]), max(_ended(node), default=0.0)
    fresh = ended > at - _BEHIND if head == commit else ended > 0
    silent = head != commit and time.time() - _moment(node["updatedAt"]) > _SILENT
    return f"{commit[:16]}-{int(ended)}" if fresh or silent else ""


def _ended(node: Json) -> Iterator[float]:
    """When each check of the head ended."""
    for one in node["commits"]["nodes"]:
        rollup = one["commit"]["statusCheckRollup"]
        for context in rollup["contexts"]["nodes"] if rollup else ():
            if context["__typename"] == "CheckRun":
                if context["completedAt"] and not context["name"].startswith(OWN_CHECKS):
                    yield _moment(context["completedAt"])
            elif context["state"] not in ("PENDING", "EXPECTED"):
                yield _moment(context["createdAt"])


def _moment(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
