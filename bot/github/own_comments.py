"""What the bot has said on a pull request so far, by its marks and its own name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from bot.comment_text import ReviewMark, fingerprint_in, review_in
from bot.github.client import Client, Json

_REVIEWS = """
query ($owner: String!, $name: String!, $number: Int!, $after: String) {
  repository(owner: $owner, name: $name) { pullRequest(number: $number) {
    reviews(first: 100, after: $after) {
      nodes { id body isMinimized viewerDidAuthor }
      pageInfo { hasNextPage endCursor } } } } }
"""
_THREADS = """
query ($owner: String!, $name: String!, $number: Int!, $after: String) {
  viewer { login }
  repository(owner: $owner, name: $name) { pullRequest(number: $number) {
    reviewThreads(first: 100, after: $after) {
      nodes { id isResolved resolvedBy { login }
        comments(first: 1) { nodes { id body viewerDidAuthor isMinimized minimizedReason } } }
      pageInfo { hasNextPage endCursor } } } } }
"""
_MINIMIZE = """
mutation ($id: ID!, $why: ReportedContentClassifiers!) {
  minimizeComment(input: {subjectId: $id, classifier: $why}) { minimizedComment { isMinimized } } }
"""
_RESOLVE = """
mutation ($id: ID!) { resolveReviewThread(input: {threadId: $id}) { thread { isResolved } } }
"""


@dataclass(frozen=True)
class PullPlace:
    """A pull request: `octo/engine` and its number."""

    repository: str
    number: int

    @property
    def path(self) -> str:
        return f"/repos/{self.repository}/pulls/{self.number}"

    @property
    def variables(self) -> Json:
        owner, name = self.repository.split("/")
        return {"owner": owner, "name": name, "number": self.number}


@dataclass(frozen=True)
class PostedReview:
    id: str
    mark: ReviewMark
    minimized: bool


@dataclass(frozen=True)
class PostedThread:
    """Our comment about one finding.

    `closed` says that it is resolved or folded, `withdrawn` that we did it, because the finding was
    fixed.
    """

    id: str
    comment_id: str
    fingerprint: str
    closed: bool
    withdrawn: bool


def reviews(client: Client, place: PullPlace) -> Iterator[PostedReview]:
    """Our reviews, oldest first."""
    for data in pages(client, _REVIEWS, place, "reviews"):
        for node in data["repository"]["pullRequest"]["reviews"]["nodes"]:
            if not node["viewerDidAuthor"]:
                continue
            mark = review_in(node["body"])
            if mark is not None:
                yield PostedReview(node["id"], mark, node["isMinimized"])


def threads(client: Client, place: PullPlace) -> Iterator[PostedThread]:
    """Our comments on lines, oldest first."""
    for data in pages(client, _THREADS, place, "reviewThreads"):
        own_login = data["viewer"]["login"].removesuffix("[bot]")
        for node in data["repository"]["pullRequest"]["reviewThreads"]["nodes"]:
            for first in node["comments"]["nodes"]:
                if not first["viewerDidAuthor"]:
                    continue
                fingerprint = fingerprint_in(first["body"])
                if fingerprint is not None:
                    yield _thread(node, first, fingerprint, own_login)


def _thread(node: Json, first: Json, fingerprint: str, own_login: str) -> PostedThread:
    closed = node["isResolved"] or first["isMinimized"]
    # `resolvedBy` is a person, or nobody where an App did it.
    resolver = node["resolvedBy"]
    by_us = resolver is None or resolver["login"].removesuffix("[bot]") == own_login
    folded_as_resolved = first["minimizedReason"] == "resolved"
    withdrawn = (node["isResolved"] and by_us) or folded_as_resolved
    return PostedThread(node["id"], first["id"], fingerprint, closed, withdrawn)


def fold(client: Client, review: PostedReview) -> None:
    """Fold a review as outdated."""
    client.graphql(_MINIMIZE, {"id": review.id, "why": "OUTDATED"})


def withdraw(client: Client, thread: PostedThread) -> None:
    """Fold a comment as resolved."""
    client.graphql(_MINIMIZE, {"id": thread.comment_id, "why": "RESOLVED"})


def resolve(client: Client, thread: PostedThread) -> None:
    """Resolve the conversation. GitHub wants `contents: write` for it."""
    client.graphql(_RESOLVE, {"id": thread.id})


def pages(client: Client, query: str, place: PullPlace, name: str) -> Iterator[Json]:
    """The answers to a query for the list `name` of a pull request, page after page."""
    after: Any = None
    while True:
        data = client.graphql(query, place.variables | {"after": after})
        yield data
        info = data["repository"]["pullRequest"][name]["pageInfo"]
        if not info["hasNextPage"]:
            return
        after = info["endCursor"]
