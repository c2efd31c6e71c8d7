"""One comment per pull request, edited in place as its CI goes on, and left alone while there is nothing new to say."""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from bot.ci.collect import collect
from bot.ci.history import History
from bot.ci.source import Source
from bot.github import App, Client
from bot.github.app import ANALYSE, COMMENT, READ_CI
from bot.github.checkout import Checkouts
from bot.github.client import Json
from bot.github.posted import PullPlace
from bot.service.analysis import in_child
from bot.service.machine import machine
from checks.ci.folder import dump
from checks.ci.model import CIRun

_MARK = re.compile(r"<!-- specbot:ci ([0-9a-f]{40,64}) ([0-9a-f]{16}) -->")
# Comparing commits wants the contents. Classic branch protection can be read by few Apps; without that, what it
# requires is said to be unknown.
_READ = {**READ_CI, "contents": "read"}
_READ_ALL = {**_READ, "administration": "read"}


@dataclass(frozen=True)
class CIPull:
    """A pull request whose CI is reported on."""

    installation: int
    repository_id: int
    repository: str
    number: int


def report_on(pull: CIPull) -> None:
    """Bring the pull request's CI comment up to date, in the service. Doing it twice has its effect once.

    Raises `GitHubError` (`Limited`, `Unsure` and 5xx may succeed later), `UserError` where the pull request cannot be
    read any more, and `Failed`.
    """
    here = machine()
    refresh(pull, here.app, here.checkouts, History(here.store.engine), here.settings.language)


def refresh(pull: CIPull, app: App, checkouts: Checkouts, history: History, language: str) -> bool:
    """Collect, analyse, publish and remember; whether the comment was written or changed."""
    now = datetime.now(UTC).replace(microsecond=0)
    with tempfile.TemporaryDirectory(prefix="specbot-ci-") as folder:
        run = collect(_source(pull, app), Path(folder), now)
        if not run.jobs:
            return False
        token = app.token(pull.installation, pull.repository_id, ANALYSE)
        clone, compared = checkouts.fetch(pull.repository, token, run.pull.base_branch, run.revisions.head)
        before = history.last(pull.repository, pull.number)
        job = {"folder": folder, "clone": str(clone), "base": compared.base, "head": compared.head}
        made = in_child("bot.ci.analysing", {**job, "before": dump(before) if before else "", "language": language})
    history.record(run, made["report"])
    wrote = post(app, app.client(pull.installation, pull.repository_id, COMMENT), pull, run, made)
    if wrote:
        history.reported(run)
    return wrote


def _source(pull: CIPull, app: App) -> Source:
    granted = _READ_ALL
    client = app.client_if_granted(pull.installation, pull.repository_id, granted)
    if client is None:
        granted = _READ
        client = app.client(pull.installation, pull.repository_id, granted)
    token = app.token(pull.installation, pull.repository_id, granted)
    return Source(client, app.endpoint.api, token, PullPlace(pull.repository, pull.number))


def post(app: App, client: Client, pull: CIPull, run: CIRun, made: Json) -> bool:
    """Write our comment or change it. False where it says the same already, whatever the time."""
    body = f"<!-- specbot:ci {run.revisions.head} {made['digest']} -->\n\n{made['comment']}"
    path = f"/repos/{pull.repository}/issues"
    known = _ours(app, client, f"{path}/{pull.number}/comments")
    if known is None:
        client.post(f"{path}/{pull.number}/comments", {"body": body})
        return True
    mark = _MARK.match(known["body"])
    if mark is not None and (mark[1], mark[2]) == (run.revisions.head, made["digest"]):
        return False
    client.patch(f"{path}/comments/{known['id']}", {"body": body})
    return True


def _ours(app: App, client: Client, path: str) -> Json | None:
    """The comment with our mark that we wrote: anybody can copy a mark."""
    me = f"{app.itself.get('/app')['slug']}[bot]"
    for one in client.pages(path):
        if _MARK.match(one["body"] or "") and one["user"] is not None and one["user"]["login"] == me:
            found: Json = one
            return found
    return None
