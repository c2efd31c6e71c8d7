"""The one answer to a command: found again by its mark and by our own name, so that no crash makes
it two."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bot.chat.comment_job import CommentJob
from bot.comment_text import utf16_length
from bot.github import Client
from bot.github.app import App
from bot.github.client import Json
from bot.i18n.escape import Markdown

_MARK = re.compile(r"<!-- specbot:answer (\d+) (\d+) -->")
# GitHub takes 65,536 UTF-16 units.
LARGEST = 65_000


def react(client: Client, job: CommentJob) -> None:
    """👀 on the comment. GitHub keeps one of each kind."""
    path = f"/repos/{job.repository}/issues/comments/{job.comment}/reactions"
    client.post(path, {"content": "eyes"}, key="id")


def format_answer(job: CommentJob, number: int, text: str, cut: str) -> str:
    """The answer to command `number`, under the line that it answers; `cut` stands for what did not
    fit."""
    head = f"<!-- specbot:answer {job.comment} {number} -->\n\n"
    if number < len(job.said):
        name, arguments = job.said[number]
        head += Markdown().code(f"/{name} {arguments}".rstrip()) + "\n\n"
    room = LARGEST - utf16_length(head)
    if utf16_length(text) > room:
        text = _first_lines(text, room - utf16_length(cut) - 2) + "\n\n" + cut
    return head + text


def _first_lines(text: str, room: int) -> str:
    """The first lines of `text`, as many as fit."""
    lines = []
    for line in text.split("\n"):
        room -= utf16_length(line) + 1
        if room < 0:
            break
        lines.append(line)
    return "\n".join(lines)


def list_own(app: App, client: Client, path: str, **params: str) -> Iterator[Json]:
    """The comments listed at `path` that we wrote: anybody can copy a mark."""
    own_login = f"{app.itself.get('/app')['slug']}[bot]"
    for comment in client.pages(path, **params):
        author = comment["user"] or {}
        if author.get("login") == own_login:
            yield comment


def _comments(job: CommentJob) -> str:
    return f"/repos/{job.repository}/issues/{job.number}/comments"


def find(app: App, client: Client, job: CommentJob, number: int) -> Json | None:
    """Our answer to command `number`, where it stands."""
    for comment in list_own(app, client, _comments(job), since=job.created):
        mark = _MARK.match(comment["body"] or "")
        if mark and (int(mark[1]), int(mark[2])) == (job.comment, number):
            return comment
    return None


def post(app: App, client: Client, job: CommentJob, number: int, text: str) -> None:
    """Post the answer, unless one stands: that is this one, or what has come of the command in the
    meantime."""
    if find(app, client, job, number) is None:
        client.post(_comments(job), {"body": text}, key="id")


def replace(app: App, client: Client, job: CommentJob, number: int, text: str) -> None:
    """Make the answer that stands say `text`; post it where none stands yet."""
    standing = find(app, client, job, number)
    if standing is None:
        client.post(_comments(job), {"body": text}, key="id")
    elif standing["body"] != text:
        client.patch(f"/repos/{job.repository}/issues/comments/{standing['id']}", {"body": text})
