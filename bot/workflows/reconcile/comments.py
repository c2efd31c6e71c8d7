"""What makes good for lost webhooks of comments: what was said lately is read once more."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime
from typing import Any

import structlog

from bot.context.service_context import ServiceContext
from bot.webhooks.handlers import comments

Json = dict[str, Any]
_log = structlog.get_logger("specbot.reconcile")
_READ = {"issues": "read", "pull_requests": "read"}
# Longer than GitHub or we are away for an update; what is older was said for a moment that is over.
_WINDOW = 2 * 3600.0
# Its webhook may be on its way.
_YOUNG = 30.0
_PULL = re.compile(r"/pull/(\d+)#")


def enqueue_missed(context: ServiceContext, installation: int, repository: Json) -> None:
    """Order the commands of comments that no webhook brought.

    One that was ordered before is known by its id, and changes nothing; one that was edited is not read.
    """
    now = time.time()
    since = max(context.store.since, now - _WINDOW)
    client = context.app.client(installation, int(repository["id"]), _READ)
    asked = datetime.fromtimestamp(since, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    for comment in client.pages(f"/repos/{repository['full_name']}/issues/comments", since=asked):
        place = _PULL.search(comment["html_url"])
        if place is None or comment["updated_at"] != comment["created_at"]:
            continue
        if not since <= datetime.fromisoformat(comment["created_at"]).timestamp() < now - _YOUNG:
            continue
        order = comments.commands_request(comment, repository, int(place[1]), installation)
        if order is not None and not context.store.has_workflow(order.id):
            context.store.enqueue(order)
            _log.info("ordered commands that no webhook brought", workflow=order.id)
