"""The jobs of the last commits of a pull request as a grid: a row for each commit, a column for
each job.

A report says how one commit stands; the grid says since when a job is red.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa

from bot.db.engine import create, put, where
from bot.i18n.escape import web_address
from checks.ci.model import CIRun, Conclusion, Job, Requirement, Status

# Commits that are shown.
MOST_COMMITS = 12
_TABLES = sa.MetaData()
_COMMITS = sa.Table(
    "specbot_ci_commits",
    _TABLES,
    sa.Column("repository", sa.String(200), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("head", sa.String(64), primary_key=True),
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("jobs", sa.JSON, nullable=False),
)
_SKIPPED = (Conclusion.SKIPPED, Conclusion.STALE)


@dataclass(frozen=True, slots=True)
class Cell:
    """A job on a commit.

    `state`: passed, failed, running, waiting, skipped, or empty where the commit did not have the
    job. `word` is the key of what it is called (`ci.state-*`); `attempt` counts from 1.
    """

    state: str = ""
    word: str = ""
    url: str = ""
    attempt: int = 1


@dataclass(frozen=True, slots=True)
class Column:
    """A job by its workflow and name; `title` is its name alone where no other job has it."""

    workflow: str
    name: str
    required: bool
    title: str = ""

    @property
    def full_name(self) -> str:
        """The name with the workflow before it."""
        prefix = f"{self.workflow} / "
        if not self.workflow or self.name.startswith(prefix):
            return self.name
        return prefix + self.name


@dataclass(frozen=True, slots=True)
class Row:
    """A commit, with a cell for each column; `at` in seconds since 1970."""

    head: str
    at: float
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Grid:
    """The newest commit first; jobs that are red on it first, then by name."""

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]


class CommitJobs:
    """The jobs of each reported commit, in the service's database."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        create(engine, _TABLES)

    def keep(self, run: CIRun) -> None:
        """Store how the jobs of a commit stand, over what was known of them."""
        key = {
            "repository": run.pull.repo,
            "number": run.pull.number,
            "head": run.revisions.head,
        }
        values = {"at": run.collected.timestamp(), "jobs": [_plain(job) for job in run.jobs]}
        with self._engine.begin() as connection:
            put(connection, _COMMITS, key, values)

    def grid(self, repository: str, number: int) -> Grid:
        """The last commits of a pull request; empty where there is none."""
        of_pull = where(_COMMITS, {"repository": repository, "number": number})
        query = sa.select(_COMMITS.c.head, _COMMITS.c.at, _COMMITS.c.jobs).where(of_pull)
        query = query.order_by(_COMMITS.c.at.desc(), _COMMITS.c.head).limit(MOST_COMMITS)
        with self._engine.connect() as connection:
            commits = connection.execute(query).all()
        jobs_by_commit = [_by_column(commit.jobs) for commit in commits]
        columns = _columns(jobs_by_commit)
        rows = []
        for commit, jobs in zip(commits, jobs_by_commit, strict=True):
            cells = tuple(_cell(jobs.get((column.workflow, column.name))) for column in columns)
            rows.append(Row(commit.head, commit.at, cells))
        return Grid(columns, tuple(rows))


Json = Mapping[str, Any]
_Key = tuple[str, str]


def _plain(job: Job) -> dict[str, Any]:
    return {
        "workflow": job.workflow,
        "name": f"{job.name} ({job.event})" if job.event else job.name,
        "required": job.requirement is Requirement.REQUIRED,
        "state": _state(job),
        "word": f"ci.state-{_word(job)}",
        "url": web_address(job.url),
        "attempt": job.attempt,
    }


def _word(job: Job) -> str:
    return str(job.conclusion if job.status is Status.COMPLETED else job.status)


def _state(job: Job) -> str:
    if job.status is Status.IN_PROGRESS:
        return "running"
    if job.status is not Status.COMPLETED:
        return "waiting"
    if job.conclusion.failed:
        return "failed"
    return "skipped" if job.conclusion in _SKIPPED else "passed"


def _by_column(jobs: Iterable[Json]) -> dict[_Key, Json]:
    """Of several jobs of one name, one that failed, else the last."""
    found: dict[_Key, Json] = {}
    for job in jobs:
        key = (job["workflow"], job["name"])
        if key not in found or found[key]["state"] != "failed":
            found[key] = job
    return found


def _columns(commits: list[dict[_Key, Json]]) -> tuple[Column, ...]:
    """The jobs of all commits. A job's requirement is that of the newest commit that has it."""
    columns: dict[_Key, Column] = {}
    for jobs in commits:
        for key, job in jobs.items():
            columns.setdefault(key, Column(*key, required=job["required"]))
    times = Counter(column.name for column in columns.values())
    for key, column in columns.items():
        title = column.name if times[column.name] == 1 else column.full_name
        columns[key] = replace(column, title=title)
    newest = commits[0] if commits else {}

    def rank(column: Column) -> tuple[bool, str, str]:
        job = newest.get((column.workflow, column.name))
        is_red = job is not None and job["state"] == "failed"
        return not is_red, column.workflow, column.name

    return tuple(sorted(columns.values(), key=rank))


def _cell(job: Json | None) -> Cell:
    if job is None:
        return Cell()
    return Cell(job["state"], job["word"], job["url"], job["attempt"])
