"""A greeting for first contributions: what the project asks of a pull request, and where to find
help."""

from __future__ import annotations

from typing import Any

from bot.chat.reply import list_own
from bot.github import App, Client
from bot.github.own_comments import PullPlace
from bot.i18n.catalog import Catalog

Json = dict[str, Any]
# A hint of GitHub's is enough here: nobody may do anything by it.
FIRST = ("FIRST_TIMER", "FIRST_TIME_CONTRIBUTOR")
_MARK = "<!-- specbot:greeting -->"


def greet(app: App, client: Client, place: PullPlace, report: Json, words: Catalog) -> None:
    """Greet, once: with what the convention rules of `report` found to be missing."""
    path = f"/repos/{place.repository}/issues/{place.number}/comments"
    for comment in list_own(app, client, path):
        if (comment["body"] or "").startswith(_MARK):
            return
    items = []
    for finding in report["findings"]:
        if finding["severity"] == "convention":
            items.append(f"- {words.style.prose(finding['message'][words.language])}")
    parts = [_MARK, words("comments.greeting")]
    if items:
        parts += [words("comments.greeting-missing"), "\n".join(items)]
    parts.append(words("comments.greeting-help"))
    client.post(path, {"body": "\n\n".join(parts)})
