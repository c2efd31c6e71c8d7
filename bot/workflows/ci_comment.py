"""One comment per pull request, edited in place as its CI goes on, and left alone while there is
nothing new to say."""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import structlog

from bot.chat.reply import list_own
from bot.ci.collect import collect
from bot.ci.history import History
from bot.ci.line_history import LineHistory
from bot.ci.source import Source
from bot.context.service_context import ServiceContext
from bot.db.deliveries import PullKey
from bot.db.rate_limits import charged_to
from bot.errors import UserError
from bot.github import Client
from bot.github.app import ANALYSE, COMMENT, READ_CI, App
from bot.github.client import Json
from bot.jobs.ci import PullCIJob
from bot.sandbox.client import run_job
from bot.web.ci_grid import CommitJobs
from bot.web.page_store import PageReport, PageStore, page_address
from checks.ci.folder import dump
from checks.ci.model import CIRun
from checks.ci.progress import running

_log = structlog.get_logger("specbot.ci")
_MARK = re.compile(r"<!-- specbot:ci ([0-9a-f]{40,64}) ([0-9a-f]{16}) -->")
# Comparing commits wants the contents. Classic branch protection can be read by few Apps; without
# that, the report says that what it requires is not known.
_READ = {**READ_CI, "contents": "read"}
_READ_ALL = {**_READ, "administration": "read"}
# GitHub itself gives up what no runner took for a day.
_LONGEST_JOB = timedelta(days=1)


@dataclass(frozen=True)
class RefreshResult:
    """How a report ended: `closed`, `nothing` (there is no CI), `unchanged` or `written`; whether
    jobs still run."""

    outcome: str
    running: bool = False


def refresh(pull: PullCIJob, context: ServiceContext) -> RefreshResult:
    """Bring the pull request's CI comment and its page up to date. Doing it twice has its effect
    once.

    Two at a time could both find no comment; the queue has one after another. Raises `GitHubError`
    (`RateLimited`, `UncertainWrite` and 5xx may succeed later), `UserError` where the pull request
    cannot be read any more, and `JobFailed`.
    """
    source = _source(pull, context.app)
    found = source.client.get_new(pull.place.path)
    if found["state"] != "open":
        return RefreshResult("closed")
    author = found["user"]["id"] if found["user"] else 0
    with charged_to(author, pull.repository):
        return _refresh(pull, context, source)


def _refresh(pull: PullCIJob, context: ServiceContext, source: Source) -> RefreshResult:
    """The same of a pull request that is open."""
    history = History(context.store.engine)
    with tempfile.TemporaryDirectory(prefix="specbot-ci-") as folder:
        run = collect(source, Path(folder), datetime.now(UTC).replace(microsecond=0))
        run = LineHistory(context.store.engine).add_earlier_logs(run, Path(folder))
        outcome = "nothing"
        if run.jobs:
            result = _explain(pull, context, run, folder, history)
            wrote = _publish(pull, context, history, run, result)
            outcome = "written" if wrote else "unchanged"
    history.reported(run)
    return RefreshResult(outcome, _goes_on(run))


def _explain(
    pull: PullCIJob, context: ServiceContext, run: CIRun, folder: str, history: History
) -> Json:
    """The report, as `bot.sandbox.programs.ci` makes it in a child."""
    previous = history.last(pull.repository, pull.number)
    token = context.app.token(pull.installation, pull.repository_id, ANALYSE)
    head = run.revisions.head
    job = {
        "folder": folder,
        "clone": "",
        "base": "",
        "head": head,
        "before": dump(previous) if previous and previous.jobs else "",
        "language": context.settings.language,
        "web": f"{context.app.endpoint.server}/{pull.repository}",
    }
    try:
        clone, compared = context.checkouts.fetch(
            pull.repository, token, run.pull.base_branch, head
        )
    except UserError as error:
        _log.warning("CI is explained without the change", reason=error.key)
    else:
        job |= {"clone": str(clone), "base": compared.base}
    return run_job("ci", job)


def _publish(
    pull: PullCIJob, context: ServiceContext, history: History, run: CIRun, result: Json
) -> bool:
    """Remember the report, write the comment and keep the page; whether the comment was written or
    changed."""
    history.record(run, result["report"])
    key = PullKey(pull.repository_id, pull.number)
    context.records.save_explanations(key, run.revisions.head, result["explanations"])
    wrote = False
    if context.settings.posting == "all":
        client = context.app.client(pull.installation, pull.repository_id, COMMENT)
        wrote = write_comment(context.app, client, pull, run, result, _page_link(pull, context))
    page = PageReport(
        pull.repository,
        pull.number,
        kind="ci",
        head=run.revisions.head,
        at=run.collected.timestamp(),
        bodies=result["bodies"],
        verdict=result["verdict"],
    )
    PageStore(context.store.engine).keep_report(page)
    CommitJobs(context.store.engine).keep(run)
    return wrote


def _goes_on(run: CIRun) -> bool:
    """Whether there will be more to say without an event: a job that has waited for days is not
    going to end."""
    for running_job in running(run):
        begun = running_job.job.started or running_job.job.queued
        if begun is None or run.collected - begun < _LONGEST_JOB:
            return True
    return False


def _source(pull: PullCIJob, app: App) -> Source:
    """GitHub with as many permissions for reading as the installation was granted."""
    permissions = _READ_ALL
    client = app.client_if_granted(pull.installation, pull.repository_id, permissions)
    if client is None:
        permissions = _READ
        client = app.client(pull.installation, pull.repository_id, permissions)
    token = app.token(pull.installation, pull.repository_id, permissions)
    return Source(client, app.endpoint.api, token, pull.place)


def _page_link(pull: PullCIJob, context: ServiceContext) -> str:
    """A link to the page of the pull request, empty where nobody can reach it."""
    address = page_address(context.settings.public_url, pull.repository, pull.number)
    words = context.words
    return words.style.link(words("report.page"), address) if address else ""


def write_comment(
    app: App, client: Client, pull: PullCIJob, run: CIRun, result: Json, page: str = ""
) -> bool:
    """Write our comment, with the link `page` at its end, or change it.

    False where it says the same already, whatever the time. Two versions beside each other, during
    an upgrade, may have written one each: the first stays.
    """
    head, digest = run.revisions.head, result["digest"]
    body = f"<!-- specbot:ci {head} {digest} -->\n\n{result['comment']}"
    if page:
        body = f"{body.rstrip()}\n\n{page}\n"
    path = f"/repos/{pull.repository}/issues"
    own = list_own(app, client, f"{path}/{pull.number}/comments")
    found = [comment for comment in own if _MARK.match(comment["body"] or "")]
    for other in found[1:]:
        client.delete(f"{path}/comments/{other['id']}")
    if not found:
        client.post(f"{path}/{pull.number}/comments", {"body": body}, key="id")
        return True
    mark = _MARK.match(found[0]["body"])
    if mark is not None and mark.groups() == (head, digest):
        return False
    client.patch(f"{path}/comments/{found[0]['id']}", {"body": body})
    return True
