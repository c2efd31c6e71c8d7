"""Our tables for commands: what was claimed, approved, skipped, reported, and run on a GPU."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import sqlalchemy as sa

from bot.db.deliveries import PullKey
from bot.db.engine import create, lock, put, where

Json = dict[str, Any]
_TABLES = sa.MetaData()


def _of_pull(name: str, *more: Any) -> sa.Table:
    key = (
        sa.Column("repository_id", sa.BigInteger, primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True),
    )
    return sa.Table(name, _TABLES, *key, *more)


_ACTS = sa.Table(
    "specbot_acts",
    _TABLES,
    sa.Column("id", sa.String(200), primary_key=True),
    sa.Column("at", sa.Float),
)
_APPROVALS = _of_pull(
    "specbot_approvals",
    sa.Column("head", sa.String(64), primary_key=True),
    sa.Column("login", sa.String(64)),
    sa.Column("at", sa.Float),
)
_SKIPS = _of_pull(
    "specbot_skips",
    sa.Column("rule", sa.String(64), primary_key=True),
    sa.Column("login", sa.String(64)),
    sa.Column("reason", sa.Text),
)
_REPORTS = _of_pull("specbot_last_reviews", sa.Column("data", sa.JSON, nullable=False))
_EXPLANATIONS = _of_pull(
    "specbot_ci_explanations",
    sa.Column("head", sa.String(64), nullable=False),
    sa.Column("jobs", sa.JSON, nullable=False),
)
_GPU = sa.Table(
    "specbot_gpu_runs",
    _TABLES,
    sa.Column("request", sa.String(36), primary_key=True),
    sa.Column("repository_id", sa.BigInteger, nullable=False, index=True),
    sa.Column("number", sa.Integer, nullable=False),
    sa.Column("head", sa.String(64), nullable=False),
    sa.Column("base", sa.String(64), nullable=False),
    sa.Column("workflow", sa.String(255), nullable=False),
    sa.Column("minutes", sa.Integer, nullable=False),
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("run", sa.BigInteger, index=True),
    sa.Column("order", sa.JSON, nullable=False),
    sa.Column("command", sa.Integer, nullable=False),
    sa.Column("files", sa.JSON, nullable=False),
)
_SPOKEN = sa.Table(
    "specbot_spoken",
    _TABLES,
    sa.Column("id", sa.String(128), primary_key=True),
    sa.Column("repository_id", sa.BigInteger, nullable=False),
    sa.Column("user", sa.BigInteger, nullable=False, index=True),
    sa.Column("at", sa.Float, nullable=False, index=True),
    sa.Column("commands", sa.Integer, nullable=False),
)
# One budget of GPU minutes is changed at a time.
_BUDGET_LOCK = 7317
_HOUR = 3600.0
_DAY = 24 * _HOUR


@dataclass(frozen=True)
class GpuRun:
    """A run on a GPU that was asked for. Stored as JSON and as a row of that table.

    `minutes` are those reserved, and those used once it has ended. `run` is GitHub's id of it, None
    until GitHub gave it. `order` is the stored `CommentJob` that asked for it, and `command` the
    number of the command there. `files` are the artifact's for `junit`, `logprobs` and
    `logprobs_base`, empty names where there are none.
    """

    request: str
    repository_id: int
    number: int
    head: str
    base: str
    workflow: str
    minutes: int
    at: float
    run: int | None
    order: Json
    command: int
    files: Json = field(default_factory=dict)


class Records:
    """The tables, in the database of the store. Safe to use from several threads."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        create(engine, _TABLES)

    def claim(self, act: str) -> bool:
        """Note that `act` is begun; False where it was before, so that nobody knows whether it had
        its effect."""
        try:
            with self._engine.begin() as connection:
                connection.execute(_ACTS.insert().values(id=act, at=time.time()))
        except sa.exc.IntegrityError:
            return False
        return True

    def release(self, act: str) -> None:
        """Forget that `act` was begun: it surely had no effect."""
        with self._engine.begin() as connection:
            connection.execute(_ACTS.delete().where(_ACTS.c.id == act))

    def count_claims(self, prefix: str) -> int:
        """How many acts whose ids begin with `prefix` were claimed within the last hour."""
        is_recent = sa.and_(
            _ACTS.c.id.startswith(prefix, autoescape=True), _ACTS.c.at > _an_hour_ago()
        )
        query = sa.select(sa.func.count()).select_from(_ACTS).where(is_recent)
        with self._engine.connect() as connection:
            return int(connection.execute(query).scalar_one())

    def count_commands(self, comment: str, repository: int, user: int, commands: int) -> int:
        """Note that `comment` of the account `user` has so many commands.

        Gives how many it gave in the repository within the last hour, these among them. The same
        comment again is not counted twice.
        """
        now = time.time()
        row = {
            "id": comment,
            "repository_id": repository,
            "user": user,
            "at": now,
            "commands": commands,
        }
        same_user = where(_SPOKEN, {"repository_id": repository, "user": user})
        same_comment = sa.select(_SPOKEN.c.id).where(_SPOKEN.c.id == comment)
        total = sa.select(sa.func.sum(_SPOKEN.c.commands)).where(same_user)
        with self._engine.begin() as connection:
            connection.execute(_SPOKEN.delete().where(_SPOKEN.c.at < _an_hour_ago()))
            if connection.execute(same_comment).first() is None:
                connection.execute(_SPOKEN.insert().values(row))
            return int(connection.execute(total).scalar_one())

    def approve(self, pull: PullKey, head: str, login: str) -> None:
        """Note that `login` has approved the commit `head` for a GPU. Another commit is another
        approval."""
        key = asdict(pull) | {"head": head}
        self._put(_APPROVALS, key, {"login": login, "at": time.time()})

    def approved(self, pull: PullKey, head: str) -> bool:
        """Whether somebody has approved the commit `head`."""
        return self._row(_APPROVALS, asdict(pull) | {"head": head}) is not None

    def skip(self, pull: PullKey, rule: str, login: str, reason: str) -> None:
        """Leave `rule` out of the next reviews of the pull request."""
        self._put(_SKIPS, asdict(pull) | {"rule": rule}, {"login": login, "reason": reason})

    def skips(self, pull: PullKey) -> list[Json]:
        """The rules that are skipped: `rule`, `login` and `reason`."""
        query = sa.select(_SKIPS).where(where(_SKIPS, asdict(pull))).order_by(_SKIPS.c.rule)
        with self._engine.connect() as connection:
            return [dict(row) for row in connection.execute(query).mappings()]

    def save_report(self, pull: PullKey, report: Json) -> None:
        """Keep the report of the last review."""
        self._put(_REPORTS, asdict(pull), {"data": report})

    def report(self, pull: PullKey) -> Json | None:
        """The report of the last review."""
        row = self._row(_REPORTS, asdict(pull))
        return None if row is None else dict(row["data"])

    def save_explanations(self, pull: PullKey, head: str, jobs: list[Json]) -> None:
        """Keep what the last CI report says of each job that failed on the commit `head`: its `id`,
        `name`, `workflow` and `text`."""
        self._put(_EXPLANATIONS, asdict(pull), {"head": head, "jobs": jobs})

    def explanations(self, pull: PullKey) -> tuple[str, list[Json]]:
        """The commit of the last CI report, empty before the first, and its failed jobs."""
        row = self._row(_EXPLANATIONS, asdict(pull))
        return ("", []) if row is None else (str(row["head"]), list(row["jobs"]))

    def reserve(self, run: GpuRun, per_pull: int, per_day: int) -> str | None:
        """Note a run on a GPU, within the minutes that its pull request and its repository's day
        have.

        None where it is noted (also where it was before), else which of the two is used up: `pull`
        or `day`.
        """
        repository = _GPU.c.repository_id == run.repository_id
        used = sa.select(sa.func.coalesce(sa.func.sum(_GPU.c.minutes), 0)).where(repository)
        same_request = sa.select(_GPU.c.request).where(_GPU.c.request == run.request)
        with self._engine.begin() as connection:
            # From the first question on: two runs must not be given the same minutes.
            lock(connection, _BUDGET_LOCK)
            if connection.execute(same_request).first():
                return None
            of_pull = connection.execute(used.where(_GPU.c.number == run.number)).scalar_one()
            of_day = connection.execute(used.where(_GPU.c.at > run.at - _DAY)).scalar_one()
            if of_pull + run.minutes > per_pull:
                return "pull"
            if of_day + run.minutes > per_day:
                return "day"
            connection.execute(_GPU.insert().values(**asdict(run)))
        return None

    def cancel_reservation(self, request: str) -> None:
        """Forget a run that was never sent."""
        with self._engine.begin() as connection:
            connection.execute(_GPU.delete().where(_GPU.c.request == request))

    def set_run_id(self, request: str, run: int) -> None:
        """Note GitHub's id of the run."""
        self._update_run(request, {"run": run})

    def set_minutes(self, request: str, minutes: int) -> None:
        """Note what the run took in the end."""
        self._update_run(request, {"minutes": minutes})

    def _update_run(self, request: str, values: Json) -> None:
        with self._engine.begin() as connection:
            connection.execute(_GPU.update().where(_GPU.c.request == request).values(**values))

    def find_gpu_run(self, repository: int, run: int, title: str) -> GpuRun | None:
        """The run that we asked for and that GitHub calls `run`.

        It may end before its id was written down, by a worker that died in between: then its
        `title` has the request.
        """
        row = self._row(_GPU, {"repository_id": repository, "run": run})
        if row is not None:
            return _gpu_run(row)
        for row in self._rows(_GPU, {"repository_id": repository, "run": None}):
            if row["request"] in title:
                self.set_run_id(row["request"], run)
                return _gpu_run({**row, "run": run})
        return None

    def gpu_months(self) -> tuple[tuple[str, int, int], ...]:
        """(month as 2026-05, runs, minutes) of all repositories, the last month first."""
        runs: Counter[str] = Counter()
        minutes_used: Counter[str] = Counter()
        with self._engine.connect() as connection:
            for at, minutes in connection.execute(sa.select(_GPU.c.at, _GPU.c.minutes)):
                month = time.strftime("%Y-%m", time.gmtime(at))
                runs[month] += 1
                minutes_used[month] += minutes
        months = sorted(runs, reverse=True)
        return tuple((month, runs[month], minutes_used[month]) for month in months)

    def last_run_with_logprobs(self, pull: PullKey, head: str) -> GpuRun | None:
        """The last run of the commit `head` that was asked to bring records of logprobs."""
        of_head = where(_GPU, asdict(pull) | {"head": head})
        query = sa.select(_GPU).where(of_head, _GPU.c.run.is_not(None)).order_by(_GPU.c.at.desc())
        with self._engine.connect() as connection:
            for row in connection.execute(query).mappings():
                if row["files"].get("logprobs"):
                    return _gpu_run(dict(row))
        return None

    def _row(self, table: sa.Table, key: Json) -> Json | None:
        rows = self._rows(table, key)
        return rows[0] if rows else None

    def _rows(self, table: sa.Table, key: Json) -> list[Json]:
        query = sa.select(table).where(where(table, key))
        with self._engine.connect() as connection:
            return [dict(row) for row in connection.execute(query).mappings()]

    def _put(self, table: sa.Table, key: Json, values: Json) -> None:
        with self._engine.begin() as connection:
            put(connection, table, key, values)


def _an_hour_ago() -> float:
    return time.time() - _HOUR


def _gpu_run(row: Json) -> GpuRun:
    return GpuRun(**{field.name: row[field.name] for field in fields(GpuRun)})
