"""What makes good for lost events of CI: checks that ended after the last report, and heads that
have no report."""

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
from bot.workflows.ci import report_request

Json = dict[str, Any]
_log = structlog.get_logger("specbot.reconcile")
_CHECKS = """
query ($owner: String!, $name: String!, $after: String) {
  repository(owner: $owner, name: $name) {
    pullRequests(first: 50, after: $after, states: [OPEN],
                 orderBy: {field: UPDATED_AT, direction: DESC}) {
      nodes { number headRefOid updatedAt
        commits(last: 1) { nodes { commit { statusCheckRollup { contexts(first: 100) { nodes {
          __typename
          ... on CheckRun { name completedAt }
          ... on StatusContext { state createdAt } } } } } } } }
      pageInfo { hasNextPage endCursor } } } }
"""
# GitHub's clock and ours differ, and its API is behind its events: a check that had ended may have
# been read as running.
_BEHIND = 60.0
# A head without any check by then may wait for one that never comes, which is worth a report.
_SILENT = 300.0


def enqueue_missed(context: ServiceContext, installation: int, repository: Json) -> None:
    """Order a report on every open pull request of the repository that has news."""
    name, repository_id = str(repository["full_name"]), int(repository["id"])
    try:
        client = context.app.client(installation, repository_id, READ_CI)
        for node in _open_pulls(client, name, context.store.since):
            pull = PullCIJob(installation, repository_id, name, int(node["number"]))
            _look_at_pull(context, pull, node)
    except GitHubError as error:
        _log.warning("checks could not be looked at", repository=name, error=str(error))


def _look_at_pull(context: ServiceContext, pull: PullCIJob, node: Json) -> None:
    head, at = History(context.store.engine).looked(pull.repository, pull.number)
    news = _news(node, head, at)
    if not news:
        return
    # What fails is tried again an hour later, and not at every look.
    hour = int(time.time() // 3600)
    context.store.enqueue(report_request(pull, f"missed-{news}-{hour}", context))
    place = f"{pull.repository}#{pull.number}"
    _log.info("ordered a CI report that no event brought", pull=place)


def _open_pulls(client: Client, repository: str, since: float) -> Iterator[Json]:
    """The open pull requests that were touched `since` then, the last touched first."""
    owner, name = repository.split("/")
    after: str | None = None
    while True:
        data = client.graphql(_CHECKS, {"owner": owner, "name": name, "after": after})
        listed = data["repository"]["pullRequests"]
        for node in listed["nodes"]:
            if _moment(node["updatedAt"]) < since:
                return
            yield node
        if not listed["pageInfo"]["hasNextPage"]:
            return
        after = listed["pageInfo"]["endCursor"]


def _news(node: Json, reported_head: str, reported_at: float) -> str:
    """What the last report does not know yet: the same name for the same news, or nothing."""
    head = str(node["headRefOid"])
    last_end = max(_ends_of_checks(node), default=0.0)
    if reported_head == head:
        has_news = last_end > reported_at - _BEHIND
    else:
        silent = time.time() - _moment(node["updatedAt"]) > _SILENT
        has_news = last_end > 0 or silent
    return f"{head[:16]}-{int(last_end)}" if has_news else ""


def _ends_of_checks(node: Json) -> Iterator[float]:
    """When each check of the head ended, in seconds since 1970."""
    for entry in node["commits"]["nodes"]:
        rollup = entry["commit"]["statusCheckRollup"]
        if not rollup:
            continue
        for context in rollup["contexts"]["nodes"]:
            ended = _end_of_check(context)
            if ended:
                yield _moment(ended)


def _end_of_check(context: Json) -> str | None:
    """GitHub's time at which a check run or a status ended; None where it has not, or is ours."""
    if context["__typename"] == "CheckRun":
        is_own = context["name"].startswith(OWN_CHECKS)
        return None if is_own else context["completedAt"]
    if context["state"] in ("PENDING", "EXPECTED"):
        return None
    return str(context["createdAt"])


def _moment(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
