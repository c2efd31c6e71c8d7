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
    """Our comment about one finding. `closed` says that it is resolved or folded, `withdrawn` that we did it, because
    it was fixed."""

    id: str
    comment_id: str
    fingerprint: str
    closed: bool
    withdrawn: bool


def reviews(client: Client, place: PullPlace) -> Iterator[PostedReview]:
    """Our reviews, oldest first."""
    for data in pages(client, _REVIEWS, place, "reviews"):
        for node in data["repository"]["pullRequest"]["reviews"]["nodes"]:
            mark = review_in(node["body"]) if node["viewerDidAuthor"] else None
            if mark is not None:
                yield PostedReview(node["id"], mark, node["isMinimized"])


def threads(client: Client, place: PullPlace) -> Iterator[PostedThread]:
    """Our comments on lines, oldest first."""
    for data in pages(client, _THREADS, place, "reviewThreads"):
        me = data["viewer"]["login"].removesuffix("[bot]")
        for node in data["repository"]["pullRequest"]["reviewThreads"]["nodes"]:
            for first in node["comments"]["nodes"]:
                found = fingerprint_in(first["body"]) if first["viewerDidAuthor"] else None
                if found is not None:
                    yield _thread(node, first, found, me)


def _thread(node: Json, first: Json, fingerprint: str, me: str) -> PostedThread:
    # `resolvedBy` is a person, or nobody where an App did it.
    ours = node["resolvedBy"] is None or node["resolvedBy"]["login"].removesuffix("[bot]") == me
    withdrawn = (node["isResolved"] and ours) or first["minimizedReason"] == "resolved"
    return PostedThread(
        node["id"], first["id"], fingerprint, node["isResolved"] or first["isMinimized"], withdrawn
    )


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
