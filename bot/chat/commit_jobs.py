"""What ran on a commit, and which of it a person means."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from bot.chat.context import Refusal
from bot.ci import convert
from bot.ci.required import required
from bot.github import Client
from bot.github.own_comments import PullPlace
from checks.ci.model import Job, Requirement

Json = dict[str, Any]
# The slug of GitHub's own App.
ACTIONS = "github-actions"
GROUPS = ("all-failed", "required-failed")


@dataclass(frozen=True)
class CommitJob:
    """A job, check or status on the commit. `run` is the workflow run of a job, as GitHub gives
    it."""

    job: Job
    run: Json | None = None

    @property
    def full_name(self) -> str:
        """Its name with its workflow's, where there is one."""
        if not self.job.workflow:
            return self.job.name
        return f"{self.job.workflow} / {self.job.name}"

    @property
    def failed(self) -> bool:
        return self.job.failed

    @property
    def run_id(self) -> int | None:
        """GitHub's id of the workflow run."""
        return None if self.run is None else int(self.run["id"])


def list_jobs(
    client: Client, place: PullPlace, branch: str, head: str, app: int
) -> list[CommitJob]:
    """Everything on commit `head` but our own checks, with what a merge into `branch` waits for."""
    found = [
        *_workflow_jobs(client, place, head),
        *_checks(client, place, head, app),
        *_statuses(client, place, head),
    ]
    needed = required(client, place, branch, head)
    marked = needed.marked(commit_job.job for commit_job in found)
    return [CommitJob(job, commit_job.run) for commit_job, job in zip(found, marked, strict=False)]


def _workflow_jobs(client: Client, place: PullPlace, head: str) -> Iterator[CommitJob]:
    runs = f"/repos/{place.repository}/actions/runs"
    for run in client.pages(runs, "workflow_runs", head_sha=head):
        yield from list_run_jobs(client, place, run)


def list_run_jobs(client: Client, place: PullPlace, run: Json) -> Iterator[CommitJob]:
    """The jobs of one workflow run; the run itself where it came to none."""
    path = f"/repos/{place.repository}/actions/runs/{run['id']}/jobs"
    jobs = list(client.pages(path, "jobs", filter="latest"))
    for job in jobs:
        yield CommitJob(convert.job(convert.Execution(run, job), ()), run)
    if not jobs:
        yield CommitJob(convert.check_without_jobs(run), run)


def _checks(client: Client, place: PullPlace, head: str, app: int) -> Iterator[CommitJob]:
    """The check runs of other Apps; those of Actions are jobs."""
    path = f"/repos/{place.repository}/commits/{head}/check-runs"
    for check_run in client.pages(path, "check_runs", filter="latest"):
        owner = check_run["app"] or {}
        if owner.get("slug") != ACTIONS and owner.get("id") != app:
            yield CommitJob(convert.check_run(check_run))


def _statuses(client: Client, place: PullPlace, head: str) -> Iterator[CommitJob]:
    path = f"/repos/{place.repository}/commits/{head}/statuses"
    for job in convert.statuses(client.pages(path)):
        yield CommitJob(job)


def select_failed_jobs(jobs: list[CommitJob], group: str) -> list[CommitJob]:
    """What failed, of all jobs or of the required ones: `group` is one of `GROUPS`. Raises
    `Refusal` where that is nothing."""
    return _failed_jobs(jobs) if group == "all-failed" else _required_failed_jobs(jobs)


def _failed_jobs(jobs: list[CommitJob]) -> list[CommitJob]:
    failed = [job for job in jobs if job.failed]
    if not failed:
        raise Refusal("none-failed")
    return failed


def _required_failed_jobs(jobs: list[CommitJob]) -> list[CommitJob]:
    required_jobs = []
    unknown = False
    for job in jobs:
        if not job.failed:
            continue
        if job.job.requirement is Requirement.REQUIRED:
            required_jobs.append(job)
        elif job.job.requirement is Requirement.UNKNOWN:
            unknown = True
    if not required_jobs:
        raise Refusal("required-unknown" if unknown else "none-required-failed")
    return required_jobs
