"""What is asked of the workers about CI: a commit to look at, a pull request to report on."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from bot.github.own_comments import PullPlace
from bot.jobs.requests import JobRequest

QUEUE = "ci"


@dataclass(frozen=True)
class CommitCIJob:
    """A commit whose CI has gone on. Stored as JSON."""

    installation: int
    repository_id: int
    repository: str
    head: str

    def order(self) -> JobRequest:
        id, partition = f"ci-{self.repository_id}-{self.head}", f"{self.repository}@{self.head}"
        return JobRequest("ci-commit", QUEUE, id, (asdict(self),), partition, gathered=True)


@dataclass(frozen=True)
class PullCIJob:
    """A pull request whose CI is reported on. Stored as JSON."""

    installation: int
    repository_id: int
    repository: str
    number: int

    @property
    def place(self) -> PullPlace:
        return PullPlace(self.repository, self.number)

    def order(self, why: str) -> JobRequest:
        """The report; `why` tells it from others on the same pull request, which wait for each other."""
        id = f"ci-{why}-{self.repository_id}-{self.number}"
        return JobRequest(
            "ci-report", QUEUE, id, (asdict(self),), f"{self.repository}#{self.number}"
        )
