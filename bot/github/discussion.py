"""What people said on a pull request: its text, the threads of its reviews, and its
conversation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bot.comment_text import fingerprint_in
from bot.github.client import Client, Json
from bot.github.own_comments import PullPlace, pages
from checks.core.change import PullRequest
from checks.summary.discussion import ReviewComment, Thread

_WHO = "author { __typename login } body viewerDidAuthor"
_THREADS = f"""
query ($owner: String!, $name: String!, $number: Int!, $after: String) {{
  repository(owner: $owner, name: $name) {{ pullRequest(number: $number) {{
    author {{ login }}
    reviewThreads(first: 100, after: $after) {{
      nodes {{ isResolved isOutdated path line originalLine
        comments(first: 50) {{ nodes {{ {_WHO} url }} }} }}
      pageInfo {{ hasNextPage endCursor }} }} }} }} }}
"""
_SAID = """
query ($owner: String!, $name: String!, $number: Int!, $after: String) {
  repository(owner: $owner, name: $name) { pullRequest(number: $number) {
    author { login }
    %s(first: 100, after: $after) {
      nodes { %s url }
      pageInfo { hasNextPage endCursor } } } } }
"""
# What GitHub itself shows for an account that was deleted.
_GHOST = "ghost"


@dataclass(frozen=True)
class PullSnapshot:
    """A pull request as GitHub has it, with the commits that it compares.

    `commits` and `comments` are numbers; `merged` is the time, empty while it is not merged.
    """

    pull: PullRequest
    base: str
    head: str
    commits: int = 0
    comments: int = 0
    merged: str = ""


def read_pull(client: Client, place: PullPlace) -> PullSnapshot:
    """The pull request itself."""
    data = client.get(place.path)
    labels = tuple(label["name"] for label in data["labels"])
    pull = PullRequest(data["title"], data["body"] or "", labels, data["base"]["ref"], known=True)
    return PullSnapshot(
        pull,
        data["base"]["sha"],
        data["head"]["sha"],
        commits=int(data["commits"]),
        comments=int(data["comments"]) + int(data["review_comments"]),
        merged=data["merged_at"] or "",
    )


def threads(client: Client, place: PullPlace) -> tuple[Thread, ...]:
    """Review threads in the order in which they were opened, then what people said without a line:
    the texts of their reviews and the conversation.

    Commands to bots and what bots said there are left out.
    """
    return (
        *_on_lines(client, place),
        *_without_lines(client, place, "reviews"),
        *_without_lines(client, place, "comments"),
    )


def _on_lines(client: Client, place: PullPlace) -> Iterator[Thread]:
    for data in pages(client, _THREADS, place, "reviewThreads"):
        pull = data["repository"]["pullRequest"]
        for node in pull["reviewThreads"]["nodes"]:
            yield _thread(node, pull["author"])


def _thread(node: Json, author: Json | None) -> Thread:
    """A thread on a line, as GraphQL has it. Of a deleted comment no node may be left."""
    nodes = node["comments"]["nodes"]
    comments = tuple(_comment(comment, author) for comment in nodes)
    fingerprint = None
    if comments and comments[0].ours:
        fingerprint = fingerprint_in(nodes[0]["body"])
    return Thread(
        comments,
        path=node["path"],
        line=node["line"] or node["originalLine"] or 0,
        resolved=node["isResolved"],
        outdated=node["isOutdated"],
        url=nodes[0]["url"] if nodes else "",
        fingerprint=fingerprint or "",
    )


def _without_lines(client: Client, place: PullPlace, what: str) -> Iterator[Thread]:
    """What people said in `reviews` or in `comments`, one thread each."""
    for data in pages(client, _SAID % (what, _WHO), place, what):
        pull = data["repository"]["pullRequest"]
        for node in pull[what]["nodes"]:
            comment = _comment(node, pull["author"])
            is_command = comment.body.lstrip().startswith("/")
            if not (comment.by_bot or comment.ours or is_command):
                yield Thread((comment,), url=node["url"])


def _comment(node: Json, author: Json | None) -> ReviewComment:
    """A comment is ours where it has our mark and an App wrote it: anybody can copy a mark."""
    writer = node["author"] or {"__typename": "User", "login": _GHOST}
    is_bot = writer["__typename"] == "Bot"
    has_mark = fingerprint_in(node["body"]) is not None
    return ReviewComment(
        author=writer["login"],
        body=node["body"],
        by_author=author is not None and writer["login"] == author["login"],
        by_bot=is_bot,
        ours=has_mark and (is_bot or node["viewerDidAuthor"]),
    )
