"""What is asked of the workers about a commit and not about a pull request."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from bot.jobs.requests import JobRequest


@dataclass(frozen=True)
class CommitJob:
    """Work on one commit, done one after the other with other work on it. Stored as JSON."""

    id: str
    installation: int
    repository_id: int
    repository: str
    head: str

    def _request(self, workflow: str, queue: str) -> JobRequest:
        return JobRequest(
            workflow=workflow,
            queue=queue,
            id=self.id,
            arguments=(asdict(self),),
            partition=f"{self.repository}@{self.head}",
        )


@dataclass(frozen=True)
class ReviewAgainJob(CommitJob):
    """A commit whose check somebody wants run again."""

    def request(self) -> JobRequest:
        """Reviews of the commit's open pull requests."""
        return self._request("review-again", "ci")


@dataclass(frozen=True)
class MergeGroupJob(CommitJob):
    """A commit that a merge queue made, to be checked before it becomes the `target` branch."""

    target: str

    def request(self) -> JobRequest:
        """The check of the commit; people wait for it, and it is done beside reviews."""
        return self._request("merge-group", "reviews")
