"""Work to be done: what a webhook or the reconcile loop asks of the workers."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from bot.github.own_comments import PullPlace


@dataclass(frozen=True)
class JobRequest:
    """One durable workflow to run.

    `id` is the workflow's own: the same order twice is one. `partition` keeps orders of one pull request behind each
    other, and `pull` (repository id, number) makes this the latest order there, which supersedes those before.
    `gathered`: those of one `id` that come within the store's time of gathering are one, which begins when it is over.
    `delay`: seconds until it may begin.
    """

    workflow: str
    queue: str
    id: str
    arguments: tuple[Any, ...]
    partition: str = ""
    pull: tuple[int, int] | None = None
    gathered: bool = False
    delay: float = 0.0


@dataclass(frozen=True)
class Delivery:
    """A webhook that arrived, by GitHub's id, with the work it asks for."""

    id: str
    event: str
    order: JobRequest | None


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

    def order(self) -> JobRequest:
        key = (self.repository_id, self.number)
        return JobRequest(
            "review", "reviews", self.id, (asdict(self),), f"{self.repository}#{self.number}", key
        )


@dataclass(frozen=True)
class ClosedJob:
    """A pull request that is no longer open. Stored as JSON."""

    id: str
    repository: str
    number: int
    merged: bool

    def order(self) -> JobRequest:
        return JobRequest(
            "closed", "reviews", self.id, (asdict(self),), f"{self.repository}#{self.number}"
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

    def order(self) -> JobRequest:
        id, partition = (
            f"discussion-{self.repository_id}-{self.number}",
            f"{self.repository}#{self.number}",
        )
        return JobRequest("discussion", "reviews", id, (asdict(self),), partition, gathered=True)
