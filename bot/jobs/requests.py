"""Work to be done: what a webhook or the reconcile loop asks of the workers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from bot.github.own_comments import PullPlace

_REVIEWS = "reviews"


@dataclass(frozen=True)
class JobRequest:
    """One durable workflow to run.

    `id` is the workflow's own: the same request twice is one. `partition` keeps requests for one
    pull request behind each other. `pull` (repository id, number) makes this the latest request
    there, which supersedes those before. `batched`: those of one `id` that come within the store's
    batching period are one, which begins when the period is over. `delay`: seconds until it may
    begin.
    """

    workflow: str
    queue: str
    id: str
    arguments: tuple[Any, ...]
    partition: str = ""
    pull: tuple[int, int] | None = None
    batched: bool = False
    delay: float = 0.0


@dataclass(frozen=True)
class Delivery:
    """A webhook that arrived, by GitHub's id, with the work it asks for."""

    id: str
    event: str
    request: JobRequest | None


def account_id(written: Mapping[str, Any]) -> int:
    """Who wrote GitHub's `written`; 0 where the account is gone."""
    user = written.get("user")
    return int(user["id"]) if user else 0


def partition(repository: str, number: int, author: int) -> str:
    """What goes one after the other: the work of one account in all repositories of an owner, whose
    installation has one limit, or that of one pull request where the account is not known."""
    owner = repository.split("/")[0]
    return f"{owner}@{author}" if author else f"{repository}#{number}"


@dataclass(frozen=True)
class ReviewJob:
    """A pull request to be reviewed, as it is when the review begins. Stored as JSON."""

    id: str
    installation: int
    repository_id: int
    repository: str
    number: int

    @property
    def place(self) -> PullPlace:
        return PullPlace(self.repository, self.number)

    def request(self, author: int = 0) -> JobRequest:
        """The review; a later one of the same pull request supersedes it.

        Those of one `author` (GitHub's id of the account) wait for each other, so that nobody has
        all places of the workers.
        """
        return JobRequest(
            workflow="review",
            queue=_REVIEWS,
            id=self.id,
            arguments=(asdict(self),),
            partition=partition(self.repository, self.number, author),
            pull=(self.repository_id, self.number),
        )


@dataclass(frozen=True)
class ClosedJob:
    """A pull request that is no longer open. Stored as JSON."""

    id: str
    repository: str
    number: int
    merged: bool

    def request(self, author: int = 0) -> JobRequest:
        """A note of it, behind what still runs for the pull request."""
        return JobRequest(
            workflow="closed",
            queue=_REVIEWS,
            id=self.id,
            arguments=(asdict(self),),
            partition=partition(self.repository, self.number, author),
        )


@dataclass(frozen=True)
class DiscussionJob:
    """A pull request that people went on discussing. Stored as JSON."""

    installation: int
    repository_id: int
    repository: str
    number: int

    @property
    def place(self) -> PullPlace:
        return PullPlace(self.repository, self.number)

    def request(self, author: int = 0) -> JobRequest:
        """The page's discussion anew; what people do shortly after each other is batched."""
        return JobRequest(
            workflow="discussion",
            queue=_REVIEWS,
            id=f"discussion-{self.repository_id}-{self.number}",
            arguments=(asdict(self),),
            partition=partition(self.repository, self.number, author),
            batched=True,
        )
