"""What the pages show of a pull request: its reports, its line on the board, and what became of its findings."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import asdict
from datetime import datetime
from typing import Any

import structlog
from dbos import DBOS

from bot.context.retries import is_transient
from bot.context.service_context import ServiceContext, current_context
from bot.db.deliveries import PullKey
from bot.github import GitHubError
from bot.github.app import ANALYSE, PUBLISH
from bot.github.client import Client
from bot.github.discussion import threads
from bot.jobs.requests import ClosedJob, DiscussionJob, ReviewJob
from bot.sandbox import client as analysis
from bot.web.page_store import PageReport, PageStore, PullRow
from bot.web.rule_stats import FindingOutcomes

Json = dict[str, Any]
_log = structlog.get_logger("specbot.pages")


@DBOS.workflow(name="closed")
def note_closed(stored: Json) -> None:
    """Take the pull request of a stored `ClosedOrder` from the board, and settle its findings. Twice is as once."""
    order, engine = ClosedJob(**stored), current_context().store.engine
    PageStore(engine).closed(order.repository, order.number, merged=order.merged)
    if order.merged:
        FindingOutcomes(engine).merged(order.repository, order.number)


def publish_pages(
    context: ServiceContext, client: Client, order: ReviewJob, facts: Json, report: Json
) -> None:
    """Write the pages of a published review. One that cannot be written is a page less, and no failed review."""
    token = context.app.token(order.installation, order.repository_id, ANALYSE)
    clone, compared = context.checkouts.fetch(
        order.repository, token, facts["target"], facts["head"], with_past=True
    )
    key, archive = PullKey(order.repository_id, order.number), PageStore(context.store.engine)
    FindingOutcomes(context.store.engine).reviewed(
        order.repository, order.number, report["findings"]
    )
    pull = _pull(client.get(order.place.path), order, report)
    archive.keep_pull(pull)
    known = {"threads": _threads(client, order), "pushes": _pushes(archive, order, facts["head"])}
    try:
        bodies = analysis.render_pages(
            clone, compared, facts | known, lambda: context.store.is_latest(key, order.id)
        )
    except (analysis.JobFailed, analysis.JobStopped) as error:
        _log.warning("no pages were written", error=str(error))
        return
    now, took = time.time(), _seconds_since_asked(context, order)
    for kind, by_language in bodies.items():
        counts = pull.bugs, pull.suggestions, pull.questions
        where = order.repository, order.number, kind, facts["head"]
        archive.keep_report(PageReport(*where, now, by_language, pull.verdict, *counts, took))
    try:
        context.checkouts.index(clone)
    except GitHubError as error:
        _log.warning("the clone's past was not indexed", error=str(error))


def renew_analysis(context: ServiceContext, order: DiscussionJob) -> None:
    """Write the analysis anew where one of the present head is kept: more was said on the pull request."""
    archive = PageStore(context.store.engine)
    heads = {
        e.head for e in archive.entries(order.repository, order.number) if e.kind == "analysis"
    }
    if not heads:
        return
    client = context.app.client(order.installation, order.repository_id, PUBLISH)
    data = client.get(order.place.path)
    head, target = data["head"]["sha"], data["base"]["ref"]
    if head not in heads:
        return
    token = context.app.token(order.installation, order.repository_id, ANALYSE)
    clone, compared = context.checkouts.fetch(order.repository, token, target, head, with_past=True)
    skips = context.records.skips(PullKey(order.repository_id, order.number))
    facts = {"title": data["title"], "body": data["body"] or "", "target": target, "skips": skips}
    try:
        bodies = analysis.render_analysis_page(
            clone, compared, facts | {"threads": _threads(client, order)}
        )
    except analysis.JobFailed as error:
        _log.warning("the page was not renewed", error=str(error))
        return
    archive.renew(order.repository, order.number, "analysis", head, bodies)


def _threads(client: Client, order: ReviewJob | DiscussionJob) -> list[Json] | None:
    """What people said, None where GitHub refuses to tell."""
    try:
        return [asdict(t) for t in threads(client, order.place)]
    except GitHubError as error:
        if is_transient(error):
            raise
        _log.warning("the discussion could not be read", error=str(error))
        return None


def _pushes(archive: PageStore, order: ReviewJob, head: str) -> list[Json]:
    """What the reviews of earlier heads found, the first of them first."""
    entries = reversed(archive.entries(order.repository, order.number))
    names = ("head", "bugs", "suggestions", "questions")
    return [
        {n: getattr(e, n) for n in names} for e in entries if e.kind == "review" and e.head != head
    ]


def _seconds_since_asked(context: ServiceContext, order: ReviewJob) -> float | None:
    """From the webhook until now."""
    asked = next(
        (w.created_at for w in context.store.client.list_workflows(workflow_ids=[order.id])), None
    )
    return time.time() - asked / 1000 if asked else None


def _pull(data: Json, order: ReviewJob, report: Json) -> PullRow:
    open_ones = [f for f in report["findings"] if not f["answered"]]
    counts = Counter(f["severity"] for f in open_ones)
    verdict = report["verdict"]
    return PullRow(
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
