"""What the pages show of a pull request: its reports, its line on the board, and what became of its
findings."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import asdict
from datetime import datetime
from typing import Any

import sqlalchemy as sa
import structlog
from dbos import DBOS

from bot.context.retries import is_transient
from bot.context.service_context import ServiceContext, current_context
from bot.db.deliveries import PullKey
from bot.db.purge import delete_rows, rename_rows
from bot.db.repositories import KnownRepository, Repositories
from bot.github import GitHubError
from bot.github.app import ANALYSE, PUBLISH
from bot.github.client import Client
from bot.github.discussion import threads
from bot.jobs.requests import ClosedJob, DiscussionJob, ReviewJob
from bot.sandbox import client as sandbox
from bot.web.page_store import PageReport, PageStore, PullRow
from bot.web.rule_stats import FindingOutcomes

Json = dict[str, Any]
_log = structlog.get_logger("specbot.pages")


@DBOS.workflow(name="closed")
def note_closed(stored: Json) -> None:
    """Take the pull request of a stored `ClosedJob` from the board, and settle its findings. Twice
    is as once."""
    job = ClosedJob(**stored)
    engine = current_context().store.engine
    PageStore(engine).closed(job.repository, job.number, merged=job.merged)
    if job.merged:
        FindingOutcomes(engine).merged(job.repository, job.number)


def publish_pages(
    context: ServiceContext, client: Client, job: ReviewJob, facts: Json, report: Json
) -> None:
    """Write the pages of a published review. One that cannot be written is a page less, and no
    failed review."""
    token = context.app.token(job.installation, job.repository_id, ANALYSE)
    clone, compared = context.checkouts.fetch(
        job.repository, token, facts["target"], facts["head"], with_past=True
    )
    key = PullKey(job.repository_id, job.number)
    store = PageStore(context.store.engine)
    _note_repository(context.store.engine, job)
    outcomes = FindingOutcomes(context.store.engine)
    outcomes.reviewed(job.repository, job.number, report["findings"])
    pull = _pull_row(client.get(job.place.path), job, report)
    store.keep_pull(pull)
    job_facts = facts | {
        "threads": _threads(client, job),
        "pushes": _earlier_pushes(store, job, facts["head"]),
    }
    try:
        bodies = sandbox.render_pages(
            clone, compared, job_facts, lambda: context.store.is_latest(key, job.id)
        )
    except (sandbox.JobFailed, sandbox.JobStopped) as error:
        _log.warning("no pages were written", error=str(error))
        return
    now, took = time.time(), _seconds_since_webhook(context, job)
    for kind, by_language in bodies.items():
        page = PageReport(
            job.repository,
            job.number,
            kind,
            facts["head"],
            now,
            by_language,
            pull.verdict,
            pull.bugs,
            pull.suggestions,
            pull.questions,
            took,
        )
        store.keep_report(page)
    try:
        context.checkouts.index(clone)
    except GitHubError as error:
        _log.warning("the clone's past was not indexed", error=str(error))


def _note_repository(engine: sa.Engine, job: ReviewJob) -> None:
    """Something is kept of the repository. The webhook of what became of it may be lost: what was
    kept under its name of another repository goes, and what was kept of this one under another
    name follows it, though not to another owner."""
    known = Repositories(engine)
    of_name, of_id = known.named(job.repository), known.by_id(job.repository_id)
    if of_name is not None and of_name.id != job.repository_id:
        delete_rows(engine, of_name.id, job.repository)
        known.forget(of_name.id)
    if of_id is not None and of_id.name != job.repository:
        if _owner(of_id.name) == _owner(job.repository):
            rename_rows(engine, of_id.name, job.repository)
        else:
            delete_rows(engine, 0, of_id.name)
    known.note(KnownRepository(job.repository_id, job.repository, job.installation))


def _owner(repository: str) -> str:
    return repository.split("/")[0]


def renew_analysis(context: ServiceContext, job: DiscussionJob) -> None:
    """Write the analysis anew where one of the present head is kept: more was said on the pull
    request."""
    store = PageStore(context.store.engine)
    analysed_heads = [
        entry.head
        for entry in store.entries(job.repository, job.number)
        if entry.kind == "analysis"
    ]
    if not analysed_heads:
        return
    client = context.app.client(job.installation, job.repository_id, PUBLISH)
    pull = client.get(job.place.path)
    head, target = pull["head"]["sha"], pull["base"]["ref"]
    if head not in analysed_heads:
        return
    token = context.app.token(job.installation, job.repository_id, ANALYSE)
    clone, compared = context.checkouts.fetch(job.repository, token, target, head, with_past=True)
    facts = {
        "title": pull["title"],
        "body": pull["body"] or "",
        "target": target,
        "skips": context.records.skips(PullKey(job.repository_id, job.number)),
        "threads": _threads(client, job),
        "web": f"{context.app.endpoint.server}/{job.repository}",
    }
    try:
        bodies = sandbox.render_analysis_page(clone, compared, facts)
    except sandbox.JobFailed as error:
        _log.warning("the page was not renewed", error=str(error))
        return
    store.renew(job.repository, job.number, "analysis", head, bodies)


def _threads(client: Client, job: ReviewJob | DiscussionJob) -> list[Json] | None:
    """What people said, None where GitHub refuses to tell."""
    try:
        return [asdict(thread) for thread in threads(client, job.place)]
    except GitHubError as error:
        if is_transient(error):
            raise
        _log.warning("the discussion could not be read", error=str(error))
        return None


def _earlier_pushes(store: PageStore, job: ReviewJob, head: str) -> list[Json]:
    """What the reviews of earlier heads found, the first of them first."""
    pushes = []
    for entry in reversed(store.entries(job.repository, job.number)):
        if entry.kind != "review" or entry.head == head:
            continue
        pushes.append(
            {
                "head": entry.head,
                "bugs": entry.bugs,
                "suggestions": entry.suggestions,
                "questions": entry.questions,
            }
        )
    return pushes


def _seconds_since_webhook(context: ServiceContext, job: ReviewJob) -> float | None:
    """From the webhook, which made the workflow, until now."""
    for workflow in context.store.client.list_workflows(workflow_ids=[job.id]):
        if workflow.created_at:
            return time.time() - workflow.created_at / 1000
    return None


def _pull_row(pull: Json, job: ReviewJob, report: Json) -> PullRow:
    """The line on the board: GitHub's `pull`, and what the review says of it."""
    counts: Counter[str] = Counter()
    for finding in report["findings"]:
        if not finding["answered"]:
            counts[finding["severity"]] += 1
    return PullRow(
        repository=job.repository,
        number=job.number,
        title=pull["title"],
        author=pull["user"]["login"] if pull["user"] else "",
        private=bool(pull["base"]["repo"]["private"]),
        state="merged" if pull["merged_at"] else pull["state"],
        head=pull["head"]["sha"],
        opened_at=_seconds(pull["created_at"]),
        updated_at=_seconds(pull["updated_at"]),
        verdict=report["verdict"],
        bugs=counts["bug"],
        suggestions=counts["suggestion"],
        questions=counts["question"],
    )


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
