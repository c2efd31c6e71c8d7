"""The one answer to a command: found again by its mark and by our own name, so that no crash makes it two."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bot.chat.comment_job import CommentJob
from bot.comment_text import size
from bot.github import App, Client
from bot.github.client import Json
from bot.i18n.escape import Markdown

_MARK = re.compile(r"<!-- specbot:answer (\d+) (\d+) -->")
# GitHub takes 65,536 UTF-16 units.
LARGEST = 65_000


def react(client: Client, order: CommentJob) -> None:
    """👀 on the comment. GitHub keeps one of each kind."""
    client.post(
        f"/repos/{order.repository}/issues/comments/{order.comment}/reactions", {"content": "eyes"}
    )


def format_answer(order: CommentJob, number: int, text: str, cut: str) -> str:
    """The answer to command `number`, under the line that it answers; `cut` stands for what did not fit."""
    head = f"<!-- specbot:answer {order.comment} {number} -->\n\n"
    if number < len(order.said):
        name, arguments = order.said[number]
        head += Markdown().code(f"/{name} {arguments}".rstrip()) + "\n\n"
    room = LARGEST - size(head)
    if size(text) > room:
        text = _fitting(text, room - size(cut) - 2) + "\n\n" + cut
    return head + text


def _fitting(text: str, room: int) -> str:
    """The first lines of `text`, as many as fit."""
    lines = []
    for line in text.split("\n"):
        room -= size(line) + 1
        if room < 0:
            break
        lines.append(line)
    return "\n".join(lines)


def list_own(app: App, client: Client, path: str, **asked: str) -> Iterator[Json]:
    """The comments listed at `path` that we wrote: anybody can copy a mark."""
    me = f"{app.itself.get('/app')['slug']}[bot]"
    return (one for one in client.pages(path, **asked) if (one["user"] or {}).get("login") == me)


def find(app: App, client: Client, order: CommentJob, number: int) -> Json | None:
    """Our answer to command `number`, where it stands."""
    path = f"/repos/{order.repository}/issues/{order.number}/comments"
    for one in list_own(app, client, path, since=order.created):
        match = _MARK.match(one["body"] or "")
        if match and (int(match[1]), int(match[2])) == (order.comment, number):
            return one
    return None


def post(app: App, client: Client, order: CommentJob, number: int, text: str) -> None:
    """Post the answer, unless one stands: that is this one, or what has come of the command in the meantime."""
    if find(app, client, order, number) is None:
        client.post(f"/repos/{order.repository}/issues/{order.number}/comments", {"body": text})


def replace(app: App, client: Client, order: CommentJob, number: int, text: str) -> None:
    """Make the answer that stands say `text`; post it where none stands yet."""
    known = find(app, client, order, number)
    if known is None:
        client.post(f"/repos/{order.repository}/issues/{order.number}/comments", {"body": text})
    elif known["body"] != text:
        client.patch(f"/repos/{order.repository}/issues/comments/{known['id']}", {"body": text})
