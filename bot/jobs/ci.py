"""What is asked of the workers about CI: a commit to look at, a pull request to report on."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from bot.github.own_comments import PullPlace
from bot.jobs.requests import JobRequest, partition

QUEUE = "ci"


@dataclass(frozen=True)
class CommitCIJob:
    """A commit whose CI has gone on. Stored as JSON.

    `branch` is the commit's as the event names it; empty where it names none.
    """

    installation: int
    repository_id: int
    repository: str
    head: str
    branch: str = ""

    def request(self, author: int = 0) -> JobRequest:
        """A look at the commit's pull requests; the events of one commit are batched.

        Whose commit it is no event tells. Looks wait for each other where the same `author`
        (GitHub's id of the account) had its CI run, and for the reports on what that one opened.
        """
        alone = f"{self.repository}@{self.head}"
        return JobRequest(
            workflow="ci-commit",
            queue=QUEUE,
            id=f"ci-{self.repository_id}-{self.head}",
            arguments=(asdict(self),),
            partition=partition(self.repository, 0, author) if author else alone,
            batched=True,
        )


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

    def request(self, why: str, author: int) -> JobRequest:
        """The report. `why` tells it from others on the same pull request, which wait for each
        other, and for those on the rest that its `author` (GitHub's id of the account) opened."""
        return JobRequest(
            workflow="ci-report",
            queue=QUEUE,
            id=f"ci-{why}-{self.repository_id}-{self.number}",
            arguments=(asdict(self),),
            partition=partition(self.repository, self.number, author),
        )
