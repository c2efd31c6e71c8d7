"""Which lines the failed logs of a job had, kept to tell later what is unusual in one of them.

Of a log only the forms of its last lines are kept, as hashes: no text of a log is stored.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import sqlalchemy as sa

from bot.db.engine import create, put
from bot.db.names import stored_name
from checks.ci.earlier_logs import count_forms
from checks.ci.folder import RUN, dump
from checks.ci.model import CIRun, Job
from checks.ci.unusual_lines import form_ids

# Logs of a job that are kept, the newest.
MOST_LOGS = 30
_ID_BYTES = 8
_TABLES = sa.MetaData()
_LOGS = sa.Table(
    "specbot_ci_log_lines",
    _TABLES,
    sa.Column("repository", sa.String(200), primary_key=True),
    sa.Column("workflow", sa.String(255), primary_key=True),
    sa.Column("job", sa.String(255), primary_key=True),
    sa.Column("execution", sa.String(64), primary_key=True),
    sa.Column("number", sa.Integer, nullable=False),
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("forms", sa.LargeBinary, nullable=False),
)


class LineHistory:
    """The table, in the service's database. Safe to use from several threads."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        create(engine, _TABLES)

    def add_earlier_logs(self, run: CIRun, folder: Path) -> CIRun:
        """The run, saved in `folder`, with what earlier logs of its failed jobs had in common with
        theirs; and its own logs kept for later.

        Logs of the same pull request are no witnesses: they have its mistake too.
        """
        jobs = tuple(self._with_earlier_logs(run, job, folder) for job in run.jobs)
        run = replace(run, jobs=jobs)
        (folder / RUN).write_text(dump(run), "utf-8")
        return run

    def _with_earlier_logs(self, run: CIRun, job: Job, folder: Path) -> Job:
        if not job.failed or not job.log:
            return job
        with (folder / job.log).open("rb") as log:
            ids = form_ids(log)
        with self._engine.begin() as connection:
            earlier = count_forms(ids, _logs_of_others(connection, run, job))
            _keep(connection, run, job, ids)
        path = f"logs/{job.id}.earlier.json"
        (folder / path).write_bytes(earlier.dump())
        return replace(job, earlier_logs=path)


def _is_job(run: CIRun, job: Job) -> sa.ColumnElement[bool]:
    return sa.and_(
        _LOGS.c.repository == run.pull.repo,
        _LOGS.c.workflow == stored_name(job.workflow),
        _LOGS.c.job == stored_name(job.name),
    )


def _logs_of_others(connection: sa.Connection, run: CIRun, job: Job) -> list[frozenset[str]]:
    query = sa.select(_LOGS.c.forms).where(_is_job(run, job), _LOGS.c.number != run.pull.number)
    return [_unpack(forms) for forms in connection.execute(query).scalars()]


def _keep(connection: sa.Connection, run: CIRun, job: Job, ids: Iterable[str]) -> None:
    """Keep the log's forms, and no more than `MOST_LOGS` of the job."""
    key = {
        "repository": run.pull.repo,
        "workflow": stored_name(job.workflow),
        "job": stored_name(job.name),
        "execution": job.id,
    }
    values = {"number": run.pull.number, "at": run.collected.timestamp(), "forms": _pack(ids)}
    put(connection, _LOGS, key, values)
    newest_first = sa.select(_LOGS.c.execution).where(_is_job(run, job))
    newest_first = newest_first.order_by(_LOGS.c.at.desc(), _LOGS.c.execution.desc())
    for execution in connection.execute(newest_first.offset(MOST_LOGS)).scalars().all():
        row = sa.and_(_is_job(run, job), _LOGS.c.execution == execution)
        connection.execute(_LOGS.delete().where(row))


def _pack(ids: Iterable[str]) -> bytes:
    return zlib.compress(b"".join(bytes.fromhex(name) for name in sorted(ids)))


def _unpack(packed: bytes) -> frozenset[str]:
    data = zlib.decompress(packed)
    starts = range(0, len(data), _ID_BYTES)
    return frozenset(data[start : start + _ID_BYTES].hex() for start in starts)
