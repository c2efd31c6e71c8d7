"""What is asked of the workers about a commit and not about a pull request."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from bot.jobs.requests import JobRequest


@dataclass(frozen=True)
class ReviewAgainJob:
    """A commit whose check somebody wants run again. Stored as JSON."""

    id: str
    installation: int
    repository_id: int
    repository: str
    head: str

    def request(self) -> JobRequest:
        """Reviews of the commit's open pull requests."""
        return JobRequest(
            workflow="review-again",
            queue="ci",
            id=self.id,
            arguments=(asdict(self),),
            partition=f"{self.repository}@{self.head}",
        )


@dataclass(frozen=True)
class MergeGroupJob:
    """A commit that a merge queue made, to be checked before it becomes the `target` branch. Stored
    as JSON."""

    id: str
    installation: int
    repository_id: int
    repository: str
    head: str
    target: str

    def request(self) -> JobRequest:
        """The check of the commit; people wait for it, and it is done beside reviews."""
        return JobRequest(
            workflow="merge-group",
            queue="reviews",
            id=self.id,
            arguments=(asdict(self),),
            partition=f"{self.repository}@{self.head}",
        )
