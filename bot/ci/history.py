"""Every verdict with its evidence, what became of it, and so how often verdicts of a kind were
right.

Tables of ours in the service's database, or in an SQLite file for the command line.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from bot.db.engine import create, put
from bot.db.names import stored_name, stored_text
from bot.errors import UserError
from checks.ci.folder import dump, load
from checks.ci.model import CIRun, Conclusion, Job, Status
from checks.ci.precision import Precision
from checks.ci.report import Cause

Json = dict[str, Any]
PASSED, AGAIN, LATER = "rerun-passed", "rerun-failed", "later-commit-passed"
# What an outcome says of a verdict. What is not here leaves it open: a job that passes on a later
# commit does not tell whether the base branch or a machine was mended meanwhile.
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
    sa.Column("repo", sa.String(200), primary_key=True),
    sa.Column("head", sa.String(64), primary_key=True),
    sa.Column("workflow", sa.String(255), primary_key=True),
    sa.Column("job", sa.String(255), primary_key=True),
    sa.Column("failure", sa.String(64), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("test", sa.Text, nullable=False),
    sa.Column("error", sa.Text, nullable=False),
    sa.Column("category", sa.String(40), nullable=False),
    sa.Column("cause", sa.String(40), nullable=False),
    sa.Column("confidence", sa.String(40), nullable=False),
    sa.Column("collected", sa.String(40), nullable=False),
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
        query = sa.select(_RUNS.c.run).where(_RUNS.c.repo == repo, _RUNS.c.number == number)
        with self._engine.connect() as connection:
            text = connection.execute(query).scalar()
        return load(text) if text is not None else None

    def looked(self, repo: str, number: int) -> tuple[str, float]:
        """The head that the last report was on, and its time in seconds since 1970.

        Empty and 0 before the first.
        """
        is_pull = sa.and_(_RUNS.c.repo == repo, _RUNS.c.number == number)
        with self._engine.connect() as connection:
            row = connection.execute(sa.select(_RUNS.c.head, _RUNS.c.at).where(is_pull)).first()
        if row is None:
            return "", 0.0
        return str(row.head), float(row.at)

    def reported(self, run: CIRun) -> None:
        """Keep the run as that of the last report."""
        key = {"repo": run.pull.repo, "number": run.pull.number}
        values = {"head": run.revisions.head, "at": run.collected.timestamp(), "run": dump(run)}
        with self._engine.begin() as connection:
            put(connection, _RUNS, key, values)

    def record(self, run: CIRun, report: Mapping[str, Any]) -> None:
        """Settle earlier verdicts by what this run shows, and add its own.

        `report` is the report as JSON. The same run again changes nothing.
        """
        with self._engine.begin() as connection:
            _settle(connection, run, report)
            for failed in report["failed"]:
                for failure in failed["failures"]:
                    _add(connection, run, failed["job"], failure)

    def precisions(self) -> tuple[Precision, ...]:
        """All verdicts by category and cause."""
        totals: dict[tuple[str, str], Precision] = {}
        query = sa.select(_VERDICTS.c.category, _VERDICTS.c.cause, _VERDICTS.c.outcome)
        with self._engine.connect() as connection:
            for category, cause, outcome in connection.execute(query):
                is_right = _RIGHT.get((Cause(cause), outcome or ""))
                verdict = Precision(
                    category, cause, 1, right=int(is_right is True), wrong=int(is_right is False)
                )
                key = (category, cause)
                totals[key] = totals[key] + verdict if key in totals else verdict
        return tuple(totals[key] for key in sorted(totals))


def _settle(connection: sa.Connection, run: CIRun, report: Mapping[str, Any]) -> None:
    """Write the outcome of every open verdict on this pull request that the run decides."""
    ended_jobs = {}
    for job in run.jobs:
        if job.status is Status.COMPLETED:
            ended_jobs[stored_name(job.workflow), stored_name(job.name)] = job
    failing = set()
    for failed in report["failed"]:
        for failure in failed["failures"]:
            failed_job = failed["job"]
            names = stored_name(failed_job["workflow"]), stored_name(failed_job["name"])
            failing.add((*names, _identity(failure)))
    is_pull = sa.and_(_VERDICTS.c.repo == run.pull.repo, _VERDICTS.c.number == run.pull.number)
    open_verdicts = sa.select(_VERDICTS).where(is_pull, _VERDICTS.c.outcome.is_(None))
    for row in connection.execute(open_verdicts).mappings().all():
        ended = ended_jobs.get((row["workflow"], row["job"]))
        if ended is None:
            continue
        fails_again = (row["workflow"], row["job"], row["failure"]) in failing
        outcome = _outcome(run, dict(row), ended, fails_again)
        if outcome is None:
            continue
        key = ("head", "workflow", "job", "failure")
        is_verdict = [_VERDICTS.c[name] == row[name] for name in key]
        update = _VERDICTS.update().where(is_pull, *is_verdict)
        connection.execute(update.values(outcome=outcome))


def _outcome(run: CIRun, row: Mapping[str, Any], job: Job, fails_again: bool) -> str | None:
    """What became of a verdict, or None where that is still open."""
    passed = job.conclusion is Conclusion.SUCCESS
    if run.revisions.head != row["head"]:
        return LATER if passed else None
    if job.attempt <= row["attempt"]:
        return None
    if passed:
        return PASSED
    return AGAIN if fails_again else None


def _add(connection: sa.Connection, run: CIRun, job: Json, failure: Json) -> None:
    key = {
        "repo": run.pull.repo,
        "number": run.pull.number,
        "head": run.revisions.head,
        "workflow": stored_name(job["workflow"]),
        "job": stored_name(job["name"]),
        "failure": _identity(failure),
    }
    values = {
        "test": stored_text(failure["test"]),
        "error": stored_text(failure["error"]),
        "category": failure["category"],
        "cause": failure["cause"],
        "confidence": failure["confidence"],
        "evidence": failure["evidence"],
        "attempt": job["attempt"],
        "collected": run.collected.isoformat(),
    }
    put(connection, _VERDICTS, key, values)


def _identity(failure: Json) -> str:
    """What the same failure is known by in another attempt."""
    return str(failure["signature"] or failure["category"])


def open_history(path: Path, *, new: bool) -> History:
    """The history in an SQLite file, made where it is `new`.

    Raises `UserError` for what is none.
    """
    if not new and not path.is_file():
        raise UserError("ci-no-database", path=str(path))
    try:
        return History(sa.create_engine(f"sqlite:///{path.absolute()}"))
    except sa.exc.DatabaseError as error:
        raise UserError("ci-database", path=str(path), reason=str(error.orig)) from error
