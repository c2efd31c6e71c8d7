"""What people said on a pull request: its text, the threads of its reviews, and its conversation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bot.comment_text import fingerprint_in
from bot.github.client import Client, Json
from bot.github.own_comments import PullPlace, pages
from checks.core.change import PullRequest
from checks.summary.discussion import Comment, Thread

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
# Who deleted the account is shown as this by GitHub itself.
_GHOST = "ghost"


@dataclass(frozen=True)
class PullSnapshot:
    """A pull request as GitHub has it, with the commits that it compares."""

    pull: PullRequest
    base: str
    head: str


def read_pull(client: Client, place: PullPlace) -> PullSnapshot:
    """The pull request itself."""
    data = client.get(place.path)
    labels = tuple(label["name"] for label in data["labels"])
    pull = PullRequest(data["title"], data["body"] or "", labels, data["base"]["ref"], known=True)
    return PullSnapshot(pull, data["base"]["sha"], data["head"]["sha"])


def threads(client: Client, place: PullPlace) -> tuple[Thread, ...]:
    """Review threads in the order in which they were opened, then what people said without a line: the texts of their
    reviews and the conversation. Commands to bots and what bots said there are left out."""
    return (
        *_on_lines(client, place),
        *_said(client, place, "reviews"),
        *_said(client, place, "comments"),
    )


def _on_lines(client: Client, place: PullPlace) -> Iterator[Thread]:
    for data in pages(client, _THREADS, place, "reviewThreads"):
        pull = data["repository"]["pullRequest"]
        for node in pull["reviewThreads"]["nodes"]:
            said = node["comments"]["nodes"]
            comments = tuple(_comment(one, pull["author"]) for one in said)
            ours = fingerprint_in(said[0]["body"]) if comments and comments[0].ours else None
            yield Thread(
                comments,
                path=node["path"],
                line=node["line"] or node["originalLine"] or 0,
                resolved=node["isResolved"],
                outdated=node["isOutdated"],
                url=said[0]["url"] if said else "",
                fingerprint=ours or "",
            )


def _said(client: Client, place: PullPlace, what: str) -> Iterator[Thread]:
    for data in pages(client, _SAID % (what, _WHO), place, what):
        pull = data["repository"]["pullRequest"]
        for node in pull[what]["nodes"]:
            comment = _comment(node, pull["author"])
            if (
                not comment.by_bot
                and not comment.ours
                and not comment.body.lstrip().startswith("/")
            ):
                yield Thread((comment,), url=node["url"])


def _comment(node: Json, author: Json | None) -> Comment:
    """A comment is ours where it has our mark and an App wrote it: anybody can copy a mark."""
    who = node["author"] or {"__typename": "User", "login": _GHOST}
    bot = who["__typename"] == "Bot"
    return Comment(
        author=who["login"],
        body=node["body"],
        by_author=author is not None and who["login"] == author["login"],
        by_bot=bot,
        ours=fingerprint_in(node["body"]) is not None and (bot or node["viewerDidAuthor"]),
    )
