"""Our tables for commands: what was begun, approved, skipped, reported, and run on a GPU."""

from __future__ import annotations

import time
from collections.abc import Mapping
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
_HOUR = 3600.0
_DAY = 24 * _HOUR


@dataclass(frozen=True)
class GpuRun:
    """A run on a GPU that was asked for. `minutes` are those reserved, and those used once it has ended; `run` is
    GitHub's id of it, None until GitHub gave it; `order` and `command` say who asked. `files` are the artifact's for
    `junit`, `logprobs` and `logprobs_base`, empty names where there are none."""

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
        """Note that `act` is begun; False where it was before, so that nobody knows whether it had its effect."""
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

    def count_commands(self, comment: str, repository: int, user: int, commands: int) -> int:
        """Note that `comment` of the account `user` has so many commands; how many it gave in the repository within the
        last hour, these among them. The same comment again is not counted twice."""
        now, same = (
            time.time(),
            sa.and_(_SPOKEN.c.repository_id == repository, _SPOKEN.c.user == user),
        )
        with self._engine.begin() as connection:
            connection.execute(_SPOKEN.delete().where(_SPOKEN.c.at < now - _HOUR))
            if (
                connection.execute(sa.select(_SPOKEN.c.id).where(_SPOKEN.c.id == comment)).first()
                is None
            ):
                row = {
                    "id": comment,
                    "repository_id": repository,
                    "user": user,
                    "at": now,
                    "commands": commands,
                }
                connection.execute(_SPOKEN.insert().values(row))
            return int(
                connection.execute(
                    sa.select(sa.func.sum(_SPOKEN.c.commands)).where(same)
                ).scalar_one()
            )

    def approve(self, pull: PullKey, head: str, login: str) -> None:
        """Note that `login` has approved the commit `head` for a GPU. Another commit is another approval."""
        self._put(_APPROVALS, asdict(pull) | {"head": head}, {"login": login, "at": time.time()})

    def approved(self, pull: PullKey, head: str) -> bool:
        return self._one(_APPROVALS, asdict(pull) | {"head": head}) is not None

    def skip(self, pull: PullKey, rule: str, login: str, reason: str) -> None:
        self._put(_SKIPS, asdict(pull) | {"rule": rule}, {"login": login, "reason": reason})

    def skips(self, pull: PullKey) -> list[Json]:
        """The rules that are skipped: `rule`, `login` and `reason`."""
        with self._engine.connect() as connection:
            rows = connection.execute(
                sa.select(_SKIPS).where(where(_SKIPS, asdict(pull))).order_by(_SKIPS.c.rule)
            )
            return [dict(row) for row in rows.mappings()]

    def save_report(self, pull: PullKey, report: Json) -> None:
        """Keep the report of the last review."""
        self._put(_REPORTS, asdict(pull), {"data": report})

    def report(self, pull: PullKey) -> Json | None:
        """The report of the last review."""
        found = self._one(_REPORTS, asdict(pull))
        return None if found is None else dict(found["data"])

    def reserve(self, wanted: GpuRun, per_pull: int, per_day: int) -> str | None:
        """Note a run on a GPU, within the minutes that its pull request and its repository's day have; None where it
        is noted (also where it was before), else which of the two is used up: `pull` or `day`."""
        here = _GPU.c.repository_id == wanted.repository_id
        with self._engine.begin() as connection:
            # One budget at a time, from the first question on.
            lock(connection, 7317)
            if connection.execute(
                sa.select(_GPU.c.request).where(_GPU.c.request == wanted.request)
            ).first():
                return None
            used = sa.select(sa.func.coalesce(sa.func.sum(_GPU.c.minutes), 0)).where(here)
            of_pull = connection.execute(used.where(_GPU.c.number == wanted.number)).scalar_one()
            of_day = connection.execute(used.where(_GPU.c.at > wanted.at - _DAY)).scalar_one()
            if of_pull + wanted.minutes > per_pull:
                return "pull"
            if of_day + wanted.minutes > per_day:
                return "day"
            connection.execute(_GPU.insert().values(**asdict(wanted)))
        return None

    def cancel_reservation(self, request: str) -> None:
        """Forget a run that was never sent."""
        with self._engine.begin() as connection:
            connection.execute(_GPU.delete().where(_GPU.c.request == request))

    def set_run_id(self, request: str, run: int) -> None:
        """GitHub's id of the run."""
        with self._engine.begin() as connection:
            connection.execute(_GPU.update().where(_GPU.c.request == request).values(run=run))

    def set_minutes(self, request: str, minutes: int) -> None:
        """What the run took in the end."""
        with self._engine.begin() as connection:
            connection.execute(
                _GPU.update().where(_GPU.c.request == request).values(minutes=minutes)
            )

    def find_gpu_run(self, repository: int, run: int, title: str) -> GpuRun | None:
        """The run that we asked for and that GitHub calls `run`.

        It may end before its id was written down, by a worker that died in between: then its `title` has the request.
        """
        found = self._one(_GPU, {"repository_id": repository, "run": run}) or self._unsent(
            repository, run, title
        )
        return None if found is None else GpuRun(**{f.name: found[f.name] for f in fields(GpuRun)})

    def gpu_months(self) -> tuple[tuple[str, int, int], ...]:
        """(month as 2026-05, runs, minutes) of all repositories, the last month first."""
        months: dict[str, tuple[int, int]] = {}
        with self._engine.connect() as connection:
            for at, minutes in connection.execute(sa.select(_GPU.c.at, _GPU.c.minutes)):
                month = time.strftime("%Y-%m", time.gmtime(at))
                runs, sum_ = months.get(month, (0, 0))
                months[month] = (runs + 1, sum_ + minutes)
        return tuple((month, *months[month]) for month in sorted(months, reverse=True))

    def last_run_with_logprobs(self, pull: PullKey, head: str) -> GpuRun | None:
        """The last run of the commit `head` that was asked to bring records of logprobs."""
        asked = sa.select(_GPU).where(
            where(_GPU, asdict(pull) | {"head": head}), _GPU.c.run.is_not(None)
        )
        with self._engine.connect() as connection:
            for found in connection.execute(asked.order_by(_GPU.c.at.desc())).mappings():
                if found["files"].get("logprobs"):
                    return GpuRun(**{f.name: found[f.name] for f in fields(GpuRun)})
        return None

    def _unsent(self, repository: int, run: int, title: str) -> Json | None:
        with self._engine.connect() as connection:
            asked = sa.select(_GPU).where(where(_GPU, {"repository_id": repository, "run": None}))
            waiting = connection.execute(asked).mappings().all()
        for one in waiting:
            if one["request"] in title:
                self.set_run_id(one["request"], run)
                return dict(one) | {"run": run}
        return None

    def _one(self, table: sa.Table, key: Json) -> Mapping[str, Any] | None:
        with self._engine.connect() as connection:
            row = connection.execute(sa.select(table).where(where(table, key))).mappings().first()
            return None if row is None else dict(row)

    def _put(self, table: sa.Table, key: Json, values: Json) -> None:
        with self._engine.begin() as connection:
            put(connection, table, key, values)
