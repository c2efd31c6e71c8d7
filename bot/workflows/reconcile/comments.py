"""What makes good for lost webhooks of comments: what was said lately is read once more."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime
from typing import Any

import structlog

from bot.context.service_context import ServiceContext
from bot.webhooks.handlers.comments import commands_request

Json = dict[str, Any]
_log = structlog.get_logger("specbot.reconcile")
_READ = {"issues": "read", "pull_requests": "read"}
# Seconds: longer than GitHub or we are away for an update. What is older was said for a moment that
# is over.
_WINDOW = 2 * 3600.0
# Its webhook may be on its way.
_YOUNG = 30.0
_PULL = re.compile(r"/pull/(\d+)#")


def enqueue_missed(context: ServiceContext, installation: int, repository: Json) -> None:
    """Order the commands of comments that no webhook brought.

    One that was ordered before is known by its id, and changes nothing; one that was edited is not
    read.
    """
    now = time.time()
    since = max(context.store.since, now - _WINDOW)
    client = context.app.client(installation, int(repository["id"]), _READ)
    path = f"/repos/{repository['full_name']}/issues/comments"
    since_text = datetime.fromtimestamp(since, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    for comment in client.pages(path, since=since_text):
        place = _PULL.search(comment["html_url"])
        if place is None or comment["updated_at"] != comment["created_at"]:
            continue
        created = datetime.fromisoformat(comment["created_at"]).timestamp()
        if not since <= created < now - _YOUNG:
            continue
        request = commands_request(comment, repository, int(place[1]), installation)
        if request is not None and not context.store.has_workflow(request.id):
            context.store.enqueue(request)
            _log.info("ordered commands that no webhook brought", workflow=request.id)
