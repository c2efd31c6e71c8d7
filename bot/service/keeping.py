"""The last step of a review: its pages, and the pull request's line on the board."""

from __future__ import annotations

import time
from collections import Counter
from datetime import datetime
from typing import Any

import structlog

from bot.github.app import ANALYSE
from bot.github.client import Client
from bot.github.posted import PullPlace
from bot.pages.archive import Archive, Pull, Report
from bot.service import analysis
from bot.service.machine import Machine
from bot.service.orders import ReviewOrder
from bot.service.store import PullKey

Json = dict[str, Any]
_log = structlog.get_logger("specbot.pages")


def keep(here: Machine, client: Client, order: ReviewOrder, facts: Json, report: Json) -> None:
    """Write the pages of a published review. One that cannot be written is a page less, and no failed review."""
    token = here.app.token(order.installation, order.repository_id, ANALYSE)
    clone, compared = here.checkouts.fetch(order.repository, token, facts["target"], facts["head"])
    key = PullKey(order.repository_id, order.number)
    try:
        bodies = analysis.pages(clone, compared, facts, lambda: here.store.is_latest(key, order.id))
    except (analysis.Failed, analysis.Stopped) as error:
        _log.warning("no pages were written", error=str(error))
        return
    pull = _pull(client.get(PullPlace(order.repository, order.number).path), order, report)
    archive, now = Archive(here.store.engine), time.time()
    archive.keep_pull(pull)
    counted = {"bugs": pull.bugs, "suggestions": pull.suggestions, "questions": pull.questions}
    for kind, by_language in bodies.items():
        page = Report(order.repository, order.number, kind, facts["head"], now, by_language, pull.verdict, **counted)
        archive.keep_report(page)


def _pull(data: Json, order: ReviewOrder, report: Json) -> Pull:
    open_ones = [f for f in report["findings"] if not f["answered"]]
    counts = Counter(f["severity"] for f in open_ones)
    verdict = report["verdict"]
    return Pull(
        repository=order.repository,
        number=order.number,
        title=data["title"],
        author=data["user"]["login"] if data["user"] else "",
        private=bool(data["base"]["repo"]["private"]),
        state="merged" if data["merged_at"] else data["state"],
        head=data["head"]["sha"],
        opened_at=_seconds(data["created_at"]),
        updated_at=_seconds(data["updated_at"]),
        verdict=verdict,
        bugs=counts["bug"],
        suggestions=counts["suggestion"],
        questions=counts["question"],
    )


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
