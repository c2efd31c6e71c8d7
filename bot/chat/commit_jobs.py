"""What ran on a commit, and which of it a person means."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from bot.chat.context import Refusal
from bot.chat.nearest import nearest
from bot.ci import convert
from bot.ci.required import required
from bot.github import Client
from bot.github.own_comments import PullPlace
from checks.ci.model import Job, Requirement

Json = dict[str, Any]
# GitHub's own.
ACTIONS = "github-actions"


@dataclass(frozen=True)
class CommitJob:
    """A job, check or status on the commit. `run` is the workflow run of a job, as GitHub gives it."""

    job: Job
    run: Json | None = None

    @property
    def full(self) -> str:
        """Its name with its workflow's, where there is one."""
        return f"{self.job.workflow} / {self.job.name}" if self.job.workflow else self.job.name

    @property
    def failed(self) -> bool:
        return self.job.failed


def list_jobs(
    client: Client, place: PullPlace, branch: str, head: str, app: int
) -> list[CommitJob]:
    """Everything on commit `head` but our own checks, with what a merge into `branch` waits for."""
    found = [
        *_jobs(client, place, head),
        *_checks(client, place, head, app),
        *_statuses(client, place, head),
    ]
    needed = required(client, place, branch, head)
    marked = needed.marked(one.job for one in found)
    return [CommitJob(job, one.run) for one, job in zip(found, marked, strict=False)]


def _jobs(client: Client, place: PullPlace, head: str) -> Iterator[CommitJob]:
    runs = f"/repos/{place.repository}/actions/runs"
    for run in client.pages(runs, "workflow_runs", head_sha=head):
        listed = list(client.pages(f"{runs}/{run['id']}/jobs", "jobs", filter="latest"))
        for data in listed:
            yield CommitJob(convert.job(convert.Execution(run, data), ()), run)
        if not listed:
            yield CommitJob(convert.jobless(run), run)


def _checks(client: Client, place: PullPlace, head: str, app: int) -> Iterator[CommitJob]:
    for data in client.pages(
        f"/repos/{place.repository}/commits/{head}/check-runs", "check_runs", filter="latest"
    ):
        owner = data["app"] or {}
        if owner.get("slug") != ACTIONS and owner.get("id") != app:
            yield CommitJob(convert.check_run(data))


def _statuses(client: Client, place: PullPlace, head: str) -> Iterator[CommitJob]:
    yield from map(
        CommitJob,
        convert.statuses(client.pages(f"/repos/{place.repository}/commits/{head}/statuses")),
    )


def select_jobs(found: Iterable[CommitJob], wanted: str) -> list[CommitJob]:
    """What `/re-run WANTED` means. Raises `Refusal` where that is nothing, or more than one thing."""
    every = list(found)
    if wanted in ("all-failed", "required-failed"):
        return _failed(every, wanted == "required-failed")
    named = [one for one in every if wanted in (one.full, one.job.name)]
    exact = [one for one in named if one.full == wanted] or named
    if not exact:
        names = list(dict.fromkeys(one.job.name for one in every))
        raise Refusal("unknown-job", wanted=wanted, near=nearest(wanted, names), some=names[:5])
    if len({one.full for one in exact}) > 1:
        raise Refusal("which-job", wanted=wanted, names=sorted({one.full for one in exact}))
    return exact[:1]


def _failed(every: list[CommitJob], only_required: bool) -> list[CommitJob]:
    failed = [one for one in every if one.failed]
    if only_required:
        unknown = [one for one in failed if one.job.requirement is Requirement.UNKNOWN]
        failed = [one for one in failed if one.job.requirement is Requirement.REQUIRED]
        if not failed and unknown:
            raise Refusal("required-unknown")
    if not failed:
        raise Refusal("none-required-failed" if only_required else "none-failed")
    return failed
