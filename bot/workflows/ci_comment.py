"""One comment per pull request, edited in place as its CI goes on, and left alone while there is nothing new to say."""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bot.chat.reply import list_own
from bot.ci.collect import collect
from bot.ci.history import History
from bot.ci.source import Source
from bot.context.service_context import ServiceContext
from bot.github import App, Client
from bot.github.app import ANALYSE, COMMENT, READ_CI
from bot.github.client import Json
from bot.jobs.ci import PullCIJob
from bot.sandbox.client import run_job
from bot.web.page_store import PageReport, PageStore
from checks.ci.folder import dump
from checks.ci.model import CIRun
from checks.ci.progress import running

_MARK = re.compile(r"<!-- specbot:ci ([0-9a-f]{40,64}) ([0-9a-f]{16}) -->")
# Comparing commits wants the contents. Classic branch protection can be read by few Apps; without that, what it
# requires is said to be unknown.
_READ = {**READ_CI, "contents": "read"}
_READ_ALL = {**_READ, "administration": "read"}
# GitHub itself gives up what no runner took for a day.
_LONGEST_JOB = timedelta(days=1)


@dataclass(frozen=True)
class RefreshResult:
    """How a report ended: `closed`, `nothing` (there is no CI), `unchanged` or `written`; whether jobs still run."""

    outcome: str
    running: bool = False


def refresh(pull: PullCIJob, context: ServiceContext) -> RefreshResult:
    """Bring the pull request's CI comment and its page up to date. Doing it twice has its effect once; two at a time
    could both find no comment, so the queue has one after another.

    Raises `GitHubError` (`Limited`, `Unsure` and 5xx may succeed later), `UserError` where the pull request cannot be
    read any more, and `Failed`.
    """
    source = _source(pull, context.app)
    if source.client.get_new(pull.place.path)["state"] != "open":
        return RefreshResult("closed")
    history = History(context.store.engine)
    with tempfile.TemporaryDirectory(prefix="specbot-ci-") as folder:
        run = collect(source, Path(folder), datetime.now(UTC).replace(microsecond=0))
        made = _explained(pull, context, run, folder, history) if run.jobs else None
    wrote = made is not None and _told(pull, context, history, run, made)
    history.reported(run)
    return RefreshResult(
        "nothing" if made is None else "written" if wrote else "unchanged", _goes_on(run)
    )


def _explained(
    pull: PullCIJob, context: ServiceContext, run: CIRun, folder: str, history: History
) -> Json:
    """The report, as `bot.sandbox.programs.ci` makes it in a child."""
    before = history.last(pull.repository, pull.number)
    token = context.app.token(pull.installation, pull.repository_id, ANALYSE)
    clone, compared = context.checkouts.fetch(
        pull.repository, token, run.pull.base_branch, run.revisions.head
    )
    job = {"folder": folder, "clone": str(clone), "base": compared.base, "head": compared.head}
    job |= {
        "before": dump(before) if before and before.jobs else "",
        "language": context.settings.language,
    }
    return run_job("ci", job)


def _told(
    pull: PullCIJob, context: ServiceContext, history: History, run: CIRun, made: Json
) -> bool:
    """Remember and publish; whether the comment was written or changed."""
    history.record(run, made["report"])
    wrote = write_comment(
        context.app,
        context.app.client(pull.installation, pull.repository_id, COMMENT),
        pull,
        run,
        made,
    )
    head, at = run.revisions.head, run.collected.timestamp()
    page = PageReport(pull.repository, pull.number, "ci", head, at, made["bodies"], made["verdict"])
    PageStore(context.store.engine).keep_report(page)
    return wrote


def _goes_on(run: CIRun) -> bool:
    """Whether there will be more to say without an event: what has waited for days is not going to end."""
    begun = (one.job.started or one.job.queued for one in running(run))
    return any(at is None or run.collected - at < _LONGEST_JOB for at in begun)


def _source(pull: PullCIJob, app: App) -> Source:
    granted = _READ_ALL
    client = app.client_if_granted(pull.installation, pull.repository_id, granted)
    if client is None:
        granted = _READ
        client = app.client(pull.installation, pull.repository_id, granted)
    token = app.token(pull.installation, pull.repository_id, granted)
    return Source(client, app.endpoint.api, token, pull.place)


def write_comment(app: App, client: Client, pull: PullCIJob, run: CIRun, made: Json) -> bool:
    """Write our comment or change it. False where it says the same already, whatever the time."""
    body = f"<!-- specbot:ci {run.revisions.head} {made['digest']} -->\n\n{made['comment']}"
    path = f"/repos/{pull.repository}/issues"
    listed = list_own(app, client, f"{path}/{pull.number}/comments")
    known = next((one for one in listed if _MARK.match(one["body"] or "")), None)
    if known is None:
        client.post(f"{path}/{pull.number}/comments", {"body": body})
        return True
    mark = _MARK.match(known["body"])
    if mark is not None and (mark[1], mark[2]) == (run.revisions.head, made["digest"]):
        return False
    client.patch(f"{path}/comments/{known['id']}", {"body": body})
    return True
