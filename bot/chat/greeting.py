"""A greeting on a new pull request: for a first contribution what the project asks for, for all
where to find help."""

from __future__ import annotations

from typing import Any

from bot.chat.reply import list_own
from bot.github import Client
from bot.github.app import App
from bot.github.own_comments import PullPlace
from bot.i18n.catalog import Catalog

Json = dict[str, Any]
# A hint of GitHub's is enough here: nobody may do anything by it.
FIRST = ("FIRST_TIMER", "FIRST_TIME_CONTRIBUTOR")
_MARK = "<!-- specbot:greeting -->"


def greet(
    app: App, client: Client, place: PullPlace, report: Json, words: Catalog, *, first: bool
) -> None:
    """Greet, once: a contributor's `first` pull request with what the convention rules of `report`
    found to be missing, others with one line."""
    path = f"/repos/{place.repository}/issues/{place.number}/comments"
    for comment in list_own(app, client, path):
        if (comment["body"] or "").startswith(_MARK):
            return
    parts = _long_greeting(report, words) if first else [words("comments.greeting-again")]
    client.post(path, {"body": "\n\n".join([_MARK, *parts])}, key="id")


def _long_greeting(report: Json, words: Catalog) -> list[str]:
    items = []
    for finding in report["findings"]:
        if finding["severity"] == "convention":
            items.append(f"- {words.style.prose(finding['message'][words.language])}")
    parts = [words("comments.greeting")]
    if items:
        parts += [words("comments.greeting-missing"), "\n".join(items)]
    return [*parts, words("comments.greeting-help")]
