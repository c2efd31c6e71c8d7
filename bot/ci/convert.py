"""GitHub's JSON as the model of a CI run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

from bot.ci.merge_queue import EVENT
from bot.github.client import Json
from checks.ci.model import Annotation, Attempt, Conclusion, Job, Kind, Pull, Status, Step

_STATUS = {
    "queued": Status.QUEUED,
    "requested": Status.QUEUED,
    "pending": Status.QUEUED,
    "waiting": Status.WAITING,
    "in_progress": Status.IN_PROGRESS,
    "completed": Status.COMPLETED,
}
_STATE = {"success": Conclusion.SUCCESS, "failure": Conclusion.FAILURE, "error": Conclusion.FAILURE}
_MOST_STEPS = 200


@dataclass(frozen=True)
class Execution:
    """One attempt of one job, and the workflow run that it is in."""

    run: Json
    job: Json

    @property
    def key(self) -> tuple[str, str, str]:
        return str(self.run["path"]), str(self.run["event"]), str(self.job["name"])

    @property
    def order(self) -> tuple[str, int]:
        return str(self.job["started_at"] or self.job["created_at"]), int(self.job["id"])


def pull(repository: str, data: Json, approved: bool | None) -> Pull:
    """The pull request of `GET /pulls/{number}`."""
    return Pull(
        repo=repository,
        number=data["number"],
        title=data["title"],
        author=data["user"]["login"] if data["user"] else "",
        base_branch=data["base"]["ref"],
        url=data["html_url"],
        draft=bool(data.get("draft")),
        approved=approved,
    )


def latest(executions: Iterable[Execution]) -> Iterator[tuple[Execution, tuple[Execution, ...]]]:
    """The last execution of every job, with those before it.

    A rerun of some jobs lists the others again, with their old times: that is no second execution.
    """
    in_order = sorted(executions, key=lambda execution: (execution.key, execution.order))
    for _, group in groupby(in_order, key=lambda execution: execution.key):
        distinct: dict[tuple[Any, ...], Execution] = {}
        for execution in group:
            started, completed = execution.job["started_at"], execution.job["completed_at"]
            times = (started, completed) if started else (execution.job["id"],)
            distinct[times] = execution
        *before, last = distinct.values()
        yield last, tuple(before)


def job(last: Execution, before: tuple[Execution, ...]) -> Job:
    """A workflow job with its earlier attempts."""
    run, data = last.run, last.job
    return Job(
        id=str(data["id"]),
        name=data["name"],
        workflow=run["name"] or "",
        status=_status(data["status"]),
        conclusion=_conclusion(data["conclusion"]),
        queued=_time(data["created_at"]),
        started=_time(data["started_at"]),
        completed=_time(data["completed_at"]),
        steps=tuple(_step(s) for s in (data.get("steps") or [])[:_MOST_STEPS]),
        runner=data["runner_name"] or "",
        labels=tuple(data["labels"]),
        attempt=len(before) + 1,
        attempts=tuple(_attempt(n, e.job) for n, e in enumerate(before, 1)),
        app="github-actions",
        url=data["html_url"] or "",
        rerun_url=run["html_url"],
        log_url=data["html_url"] or "",
    )


def with_events(jobs: Iterable[Job], events: Mapping[int, str]) -> list[Job]:
    """The jobs. Those that ran for several events say for which, and those of the merge queue too.

    `events` are those of the workflow runs by the ids of their jobs.
    """
    events_by_name: dict[tuple[str, str], set[str]] = {}
    event_by_id = {str(number): event for number, event in events.items()}
    jobs = list(jobs)
    for job in jobs:
        event = event_by_id.get(job.id, "")
        events_by_name.setdefault((job.workflow, job.name), set()).add(event)
    told = []
    for job in jobs:
        event = event_by_id.get(job.id, "")
        is_one_of_several = len(events_by_name[job.workflow, job.name]) > 1
        told.append(replace(job, event=event) if is_one_of_several or event == EVENT else job)
    return told


def check_without_jobs(run: Json) -> Job:
    """A workflow run that has no job: it waits for an approval, or its file cannot be read."""
    return Job(
        id=f"run-{run['id']}",
        name=run["name"] or run["path"],
        status=_status(run["status"]),
        conclusion=_conclusion(run["conclusion"]),
        queued=_time(run["created_at"]),
        app="github-actions",
        url=run["html_url"],
        rerun_url=run["html_url"],
    )


def check_run(data: Json) -> Job:
    """A check of another App."""
    output = data["output"]
    texts = (output["title"], output["summary"], output["text"])
    return Job(
        id=str(data["id"]),
        name=data["name"],
        kind=Kind.CHECK_RUN,
        status=_status(data["status"]),
        conclusion=_conclusion(data["conclusion"]),
        started=_time(data["started_at"]),
        completed=_time(data["completed_at"]),
        app=(data["app"] or {}).get("slug") or "",
        summary="\n".join(t for t in texts if t)[:20_000],
        url=data["details_url"] or data["html_url"] or "",
        rerun_url=data["html_url"] or "",
    )


def statuses(found: Iterable[Json]) -> Iterator[Job]:
    """The newest status of every context. GitHub lists the newest first."""
    contexts: set[str] = set()
    for data in found:
        if data["context"] not in contexts:
            contexts.add(data["context"])
            yield _status_job(data)


def _status_job(data: Json) -> Job:
    if data["state"] == "pending":
        status, conclusion, completed = Status.IN_PROGRESS, Conclusion.NONE, None
    else:
        status = Status.COMPLETED
        conclusion = _STATE.get(data["state"], Conclusion.NEUTRAL)
        completed = _time(data["updated_at"])
    return Job(
        id=f"status-{data['id']}",
        name=data["context"],
        kind=Kind.STATUS,
        status=status,
        conclusion=conclusion,
        queued=_time(data["created_at"]),
        completed=completed,
        summary=data["description"] or "",
        url=data["target_url"] or "",
    )


def with_annotations(job: Job, data: Iterable[Mapping[str, Any]]) -> Job:
    """The job with what GitHub or the App says about lines."""
    annotations = []
    for item in data:
        level, message = item["annotation_level"] or "", item["message"] or ""
        line = int(item["start_line"] or 0)
        annotations.append(Annotation(level, message, _path(item["path"]), line))
    return replace(job, annotations=tuple(annotations))


def _path(path: str | None) -> str:
    """GitHub files what is about no file under `.github`."""
    return "" if path in (None, "", ".github") else str(path)


def _step(data: Json) -> Step:
    return Step(
        number=int(data["number"]),
        name=data["name"],
        status=_status(data["status"]),
        conclusion=_conclusion(data["conclusion"]),
        started=_time(data.get("started_at")),
        completed=_time(data.get("completed_at")),
    )


def _attempt(number: int, data: Json) -> Attempt:
    times = _time(data["started_at"]), _time(data["completed_at"])
    return Attempt(number, _conclusion(data["conclusion"]), *times, url=data["html_url"] or "")


def _status(name: str) -> Status:
    return _STATUS.get(name, Status.QUEUED)


def _conclusion(name: str | None) -> Conclusion:
    word = (name or "none").replace("_", "-")
    return Conclusion(word) if word in [*Conclusion] else Conclusion.NEUTRAL


def _time(text: str | None) -> datetime | None:
    return time_of(text) if text else None


def time_of(text: str) -> datetime:
    """A time of GitHub's, in UTC and whole seconds."""
    return datetime.fromisoformat(text).astimezone(UTC).replace(microsecond=0)
