"""What makes good for lost webhooks: GitHub is asked to send again what it could not deliver."""

from __future__ import annotations

import time
from datetime import datetime
from typing import Any

import structlog

from bot.context import metrics
from bot.context.service_context import ServiceContext
from bot.db.redeliveries import FailedDelivery, Redeliveries
from bot.github import UNPROCESSABLE, GitHubError

Json = dict[str, Any]
_log = structlog.get_logger("specbot.reconcile")
# GitHub redelivers for three days.
_WINDOW = 3 * 24 * 3600.0
# A delivery that fails so often is not going to succeed, and would be sent for ever.
_MOST_ATTEMPTS = 4
# One that is on its way now is not lost.
_YOUNG = 30.0
# Attempts that GitHub lists late, after others that were made later.
_LATE = 120.0
# Of a hundred attempts each. What is left is read at the next look, from where this one ended.
_MOST_PAGES = 10
# How many are asked for in one look; GitHub counts each as a request of the App.
_MOST_ASKED = 200


def redeliver(context: ServiceContext) -> None:
    """Have GitHub send again what it could not deliver in the last three days."""
    known = Redeliveries(context.store.engine)
    _read_failures(context, known)
    _ask_again(context, known)
    known.forget_before(time.time() - _WINDOW)
    context.store.delete_old_deliveries()


def _read_failures(context: ServiceContext, known: Redeliveries) -> None:
    """Note the failed attempts since the last look, the newest first, page by page.

    A look that would take too many pages ends, and the next one goes on from there.
    """
    client, mark = context.app.deliveries, known.mark()
    path = mark.goes_on_at
    query: dict[str, str | int] = {}
    until, newest = mark.until, mark.newest
    if not path:
        path, query = "/app/hook/deliveries", {"per_page": 100, "status": "failure"}
        until, newest = mark.newest - _LATE, 0.0
    oldest_wanted = max(until, time.time() - _WINDOW)
    for _ in range(_MOST_PAGES):
        attempts, path = client.page(path, **query)
        query = {}
        moments = [_moment(attempt["delivered_at"]) for attempt in attempts]
        newest = max([newest, *moments])
        wanted = [a for a, at in zip(attempts, moments, strict=True) if at >= oldest_wanted]
        known.note([_failed(attempt) for attempt in wanted if not _succeeded(attempt)])
        if not path or len(wanted) < len(attempts):
            known.set_mark(newest=max(newest, mark.newest), until=0.0, goes_on_at="")
            return
    known.set_mark(newest=newest, until=until, goes_on_at=path)


def _ask_again(context: ServiceContext, known: Redeliveries) -> None:
    """Ask for what failed, did not arrive since, and has not failed too often."""
    for failed in known.due(time.time() - _YOUNG, _MOST_ATTEMPTS, _MOST_ASKED):
        if context.store.received(failed.guid):
            known.settle(failed.guid)
            continue
        try:
            context.app.deliveries.post(f"/app/hook/deliveries/{failed.attempt}/attempts", {})
        except GitHubError as error:
            if error.status not in (404, UNPROCESSABLE):
                raise
            known.settle(failed.guid)
            continue
        known.asked(failed.guid)
        metrics.REDELIVERIES.inc()
        _log.info("asked for a redelivery", delivery=failed.guid)


def _failed(attempt: Json) -> FailedDelivery:
    return FailedDelivery(
        str(attempt["guid"]), int(attempt["id"]), _moment(attempt["delivered_at"])
    )


def _succeeded(attempt: Json) -> bool:
    return 200 <= int(attempt["status_code"]) < 300


def _moment(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
