"""One comment per pull request, edited in place as its CI goes on, and left alone while there is nothing new to say."""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bot.chat.reply import ours
from bot.ci.collect import collect
from bot.ci.history import History
from bot.ci.source import Source
from bot.context.service_context import Machine
from bot.github import App, Client
from bot.github.app import ANALYSE, COMMENT, READ_CI
from bot.github.client import Json
from bot.jobs.ci import CIPull
from bot.sandbox.client import in_child
from bot.web.page_store import Archive, Report
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
class Refreshed:
    """How a report ended: `closed`, `nothing` (there is no CI), `unchanged` or `written`; whether jobs still run."""

    outcome: str
    running: bool = False


def refresh(pull: CIPull, here: Machine) -> Refreshed:
    """Bring the pull request's CI comment and its page up to date. Doing it twice has its effect once; two at a time
    could both find no comment, so the queue has one after another.

    Raises `GitHubError` (`Limited`, `Unsure` and 5xx may succeed later), `UserError` where the pull request cannot be
    read any more, and `Failed`.
    """
    source = _source(pull, here.app)
    if source.client.get_new(pull.place.path)["state"] != "open":
        return Refreshed("closed")
    history = History(here.store.engine)
    with tempfile.TemporaryDirectory(prefix="specbot-ci-") as folder:
        run = collect(source, Path(folder), datetime.now(UTC).replace(microsecond=0))
        made = _explained(pull, here, run, folder, history) if run.jobs else None
    wrote = made is not None and _told(pull, here, history, run, made)
    history.reported(run)
    return Refreshed(
        "nothing" if made is None else "written" if wrote else "unchanged", _goes_on(run)
    )


def _explained(pull: CIPull, here: Machine, run: CIRun, folder: str, history: History) -> Json:
    """The report, as `bot.sandbox.programs.ci` makes it in a child."""
    before = history.last(pull.repository, pull.number)
    token = here.app.token(pull.installation, pull.repository_id, ANALYSE)
    clone, compared = here.checkouts.fetch(
        pull.repository, token, run.pull.base_branch, run.revisions.head
    )
    job = {"folder": folder, "clone": str(clone), "base": compared.base, "head": compared.head}
    job |= {
        "before": dump(before) if before and before.jobs else "",
        "language": here.settings.language,
    }
    return in_child("ci", job)


def _told(pull: CIPull, here: Machine, history: History, run: CIRun, made: Json) -> bool:
    """Remember and publish; whether the comment was written or changed."""
    history.record(run, made["report"])
    wrote = post(
        here.app, here.app.client(pull.installation, pull.repository_id, COMMENT), pull, run, made
    )
    head, at = run.revisions.head, run.collected.timestamp()
    page = Report(pull.repository, pull.number, "ci", head, at, made["bodies"], made["verdict"])
    Archive(here.store.engine).keep_report(page)
    return wrote


def _goes_on(run: CIRun) -> bool:
    """Whether there will be more to say without an event: what has waited for days is not going to end."""
    begun = (one.job.started or one.job.queued for one in running(run))
    return any(at is None or run.collected - at < _LONGEST_JOB for at in begun)


def _source(pull: CIPull, app: App) -> Source:
    granted = _READ_ALL
    client = app.client_if_granted(pull.installation, pull.repository_id, granted)
    if client is None:
        granted = _READ
        client = app.client(pull.installation, pull.repository_id, granted)
    token = app.token(pull.installation, pull.repository_id, granted)
    return Source(client, app.endpoint.api, token, pull.place)


def post(app: App, client: Client, pull: CIPull, run: CIRun, made: Json) -> bool:
    """Write our comment or change it. False where it says the same already, whatever the time."""
    body = f"<!-- specbot:ci {run.revisions.head} {made['digest']} -->\n\n{made['comment']}"
    path = f"/repos/{pull.repository}/issues"
    listed = ours(app, client, f"{path}/{pull.number}/comments")
    known = next((one for one in listed if _MARK.match(one["body"] or "")), None)
    if known is None:
        client.post(f"{path}/{pull.number}/comments", {"body": body})
        return True
    mark = _MARK.match(known["body"])
    if mark is not None and (mark[1], mark[2]) == (run.revisions.head, made["digest"]):
        return False
    client.patch(f"{path}/comments/{known['id']}", {"body": body})
    return True
