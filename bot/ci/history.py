"""Every verdict with its evidence, what became of it, and so how often verdicts of a kind were right.

Tables of ours in the service's database, or in an SQLite file for the command line.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from bot.db.engine import create, put
from bot.errors import UserError
from checks.ci.folder import dump, load
from checks.ci.model import CIRun, Conclusion, Job, Status
from checks.ci.precision import Precision
from checks.ci.report import Cause

Json = dict[str, Any]
PASSED, AGAIN, LATER = "rerun-passed", "rerun-failed", "later-commit-passed"
# What an outcome says of a verdict. What is not here leaves it open: a job that passes on a later commit does not tell
# whether the base branch or a machine was mended meanwhile.
_RIGHT = {
    (Cause.THIS_PR, LATER): True,
    (Cause.THIS_PR, PASSED): False,
    (Cause.CONSEQUENCE, LATER): True,
    (Cause.CONSEQUENCE, PASSED): False,
    (Cause.FLAKY, PASSED): True,
    (Cause.FLAKY, AGAIN): False,
    (Cause.INFRASTRUCTURE, PASSED): True,
    (Cause.INFRASTRUCTURE, AGAIN): False,
    (Cause.PERSON, PASSED): True,
    (Cause.BASE, PASSED): False,
}
_TABLES = sa.MetaData()
_VERDICTS = sa.Table(
    "specbot_ci_verdicts",
    _TABLES,
    *(
        sa.Column(name, sa.String(size), primary_key=True)
        for name, size in (
            ("repo", 200),
            ("head", 64),
            ("workflow", 255),
            ("job", 255),
            ("failure", 64),
        )
    ),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("test", sa.Text, nullable=False),
    sa.Column("error", sa.Text, nullable=False),
    *(
        sa.Column(name, sa.String(40), nullable=False)
        for name in ("category", "cause", "confidence", "collected")
    ),
    sa.Column("attempt", sa.Integer, nullable=False),
    sa.Column("evidence", sa.JSON, nullable=False),
    sa.Column("outcome", sa.String(40)),
)
_RUNS = sa.Table(
    "specbot_ci_last",
    _TABLES,
    sa.Column("repo", sa.String(200), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("head", sa.String(64), nullable=False),
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("run", sa.Text, nullable=False),
)


class History:
    """The tables, in the database of `engine`. Safe to use from several threads."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        create(engine, _TABLES)

    def last(self, repo: str, number: int) -> CIRun | None:
        """The run of the last report on a pull request."""
        asked = sa.select(_RUNS.c.run).where(_RUNS.c.repo == repo, _RUNS.c.number == number)
        with self._engine.connect() as connection:
            text = connection.execute(asked).scalar()
        return load(text) if text is not None else None

    def looked(self, repo: str, number: int) -> tuple[str, float]:
        """The head that the last report was on, and when it was looked at in seconds since 1970; empty and 0 before
        the first."""
        asked = sa.select(_RUNS.c.head, _RUNS.c.at).where(
            _RUNS.c.repo == repo, _RUNS.c.number == number
        )
        with self._engine.connect() as connection:
            row = connection.execute(asked).first()
        return (str(row.head), float(row.at)) if row is not None else ("", 0.0)

    def reported(self, run: CIRun) -> None:
        """Keep the run as that of the last report."""
        key = {"repo": run.pull.repo, "number": run.pull.number}
        values = {"head": run.revisions.head, "at": run.collected.timestamp(), "run": dump(run)}
        with self._engine.begin() as connection:
            put(connection, _RUNS, key, values)

    def record(self, run: CIRun, report: Mapping[str, Any]) -> None:
        """Settle earlier verdicts by what this run shows, and add its own. `report` is the report as JSON. The same
        run again changes nothing."""
        with self._engine.begin() as connection:
            _settle(connection, run, report)
            for failed in report["failed"]:
                for failure in failed["failures"]:
                    _add(connection, run, failed["job"], failure)

    def precisions(self) -> tuple[Precision, ...]:
        """All verdicts by category and cause."""
        counts: dict[tuple[str, str], list[int]] = {}
        asked = sa.select(_VERDICTS.c.category, _VERDICTS.c.cause, _VERDICTS.c.outcome)
        with self._engine.connect() as connection:
            for category, cause, outcome in connection.execute(asked):
                count = counts.setdefault((category, cause), [0, 0, 0])
                right = _RIGHT.get((Cause(cause), outcome or ""))
                count[0] += 1
                count[1] += right is True
                count[2] += right is False
        return tuple(Precision(*key, *count) for key, count in sorted(counts.items()))


def _settle(connection: sa.Connection, run: CIRun, report: Mapping[str, Any]) -> None:
    jobs = {(j.workflow, j.name): j for j in run.jobs if j.status is Status.COMPLETED}
    failing = {
        (f["job"]["workflow"], f["job"]["name"], _identity(failure))
        for f in report["failed"]
        for failure in f["failures"]
    }
    here = sa.and_(_VERDICTS.c.repo == run.pull.repo, _VERDICTS.c.number == run.pull.number)
    asked = sa.select(_VERDICTS).where(here, _VERDICTS.c.outcome.is_(None))
    for row in connection.execute(asked).mappings().all():
        job = jobs.get((row["workflow"], row["job"]))
        again = (row["workflow"], row["job"], row["failure"]) in failing
        outcome = _outcome(run, dict(row), job, again) if job is not None else None
        if outcome is not None:
            same = [
                _VERDICTS.c[name] == row[name] for name in ("head", "workflow", "job", "failure")
            ]
            connection.execute(_VERDICTS.update().where(here, *same).values(outcome=outcome))


def _outcome(run: CIRun, row: Mapping[str, Any], job: Job, again: bool) -> str | None:
    passed = job.conclusion is Conclusion.SUCCESS
    if run.revisions.head == row["head"]:
        if job.attempt <= row["attempt"]:
            return None
        return PASSED if passed else AGAIN if again else None
    return LATER if passed else None


def _add(connection: sa.Connection, run: CIRun, job: Json, failure: Json) -> None:
    key = {
        "repo": run.pull.repo,
        "number": run.pull.number,
        "head": run.revisions.head,
        "workflow": job["workflow"],
        "job": job["name"],
        "failure": _identity(failure),
    }
    values = {
        name: failure[name]
        for name in ("test", "error", "category", "cause", "confidence", "evidence")
    }
    put(
        connection,
        _VERDICTS,
        key,
        {**values, "attempt": job["attempt"], "collected": run.collected.isoformat()},
    )


def _identity(failure: Json) -> str:
    """What the same failure is known by in another attempt."""
    return str(failure["signature"] or failure["category"])


def in_file(path: Path, *, new: bool) -> History:
    """The history in an SQLite file, made where it is `new`. Raises `UserError` for what is none."""
    if not new and not path.is_file():
        raise UserError("ci-no-database", path=str(path))
    try:
        return History(sa.create_engine(f"sqlite:///{path.absolute()}"))
    except sa.exc.DatabaseError as error:
        raise UserError("ci-database", path=str(path), reason=str(error.orig)) from error
