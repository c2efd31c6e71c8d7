"""Our tables, in the database that also holds the queues: deliveries, pull requests and workers.

They are in one database so that a delivery is stored and its work enqueued in one transaction.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

import sqlalchemy as sa
from dbos import (
    DBOSClient,
    DBOSPortableJSONSerializer,
    EnqueueOptions,
    run_dbos_database_migrations,
)
from sqlalchemy.dialects import postgresql, sqlite

from bot.db.engine import begin_to_write, engine_for, lock
from bot.errors import UserError
from bot.jobs.requests import Delivery, JobRequest
from bot.redact import redact
from bot.settings import Settings

_TABLES = sa.MetaData()
_DELIVERIES = sa.Table(
    "specbot_deliveries",
    _TABLES,
    sa.Column("id", sa.String(64), primary_key=True),
    sa.Column("event", sa.String(64), nullable=False),
    sa.Column("received_at", sa.Float, nullable=False, index=True),
)
_PULLS = sa.Table(
    "specbot_pulls",
    _TABLES,
    sa.Column("repository_id", sa.BigInteger, primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("order_id", sa.String(128), nullable=False),
    sa.Column("reported_head", sa.String(64)),
)
_WORKERS = sa.Table(
    "specbot_workers",
    _TABLES,
    sa.Column("id", sa.String(128), primary_key=True),
    sa.Column("seen_at", sa.Float, nullable=False),
)
_SINCE = sa.Table(
    "specbot_since",
    _TABLES,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("at", sa.Float),
)
# GitHub lists deliveries for three days; a guid older than that cannot come again.
_KEPT = 7 * 24 * 3600.0
_MOST_KNOWN = 10_000


@dataclass(frozen=True)
class PullKey:
    repository_id: int
    number: int


class Store:
    """The database. Safe to use from several threads. `gather` is the time of gathering, in seconds."""

    def __init__(self, url: str, gather: float = 30.0) -> None:
        self._gather = gather
        self._ordered: frozenset[str] = frozenset()
        self.engine = engine_for(url)
        self.check()
        run_dbos_database_migrations(url)
        self._create_tables()
        self.client = DBOSClient(system_database_url=url, serializer=DBOSPortableJSONSerializer())

    def _create_tables(self) -> None:
        """Several processes may start at once: the first that holds the lock makes everything."""
        with self.engine.begin() as connection:
            lock(connection, 7315)
            _TABLES.create_all(connection)
            if connection.execute(sa.select(_SINCE.c.at)).first() is None:
                connection.execute(_SINCE.insert().values(id=1, at=time.time()))

    def close(self) -> None:
        self.client.destroy()
        self.engine.dispose()

    def check(self) -> None:
        """Raise SQLAlchemy's error where the database does not answer."""
        with self.engine.connect() as connection:
            connection.execute(sa.select(1))

    @property
    def since(self) -> float:
        """The second in which the service first ran: what was before is not its business. GitHub's times are whole
        seconds, so that what came later in this one must not look older."""
        with self.engine.connect() as connection:
            return float(math.floor(connection.execute(sa.select(_SINCE.c.at)).scalar_one()))

    def receive(self, deliveries: Iterable[Delivery]) -> list[bool]:
        """Store deliveries and enqueue their orders, in one transaction. False for each that was received before."""
        listed, now = list(deliveries), time.time()
        rows = [{"id": one.id, "event": one.event, "received_at": now} for one in listed]
        insert = (
            _insert(self.engine)(_DELIVERIES).on_conflict_do_nothing().returning(_DELIVERIES.c.id)
        )
        news, orders = [], []
        with self.engine.begin() as connection:
            begin_to_write(connection)
            fresh = set(connection.execute(insert, rows).scalars())
            for one in listed:
                news.append(one.id in fresh)
                fresh.discard(one.id)
                if news[-1] and one.order is not None:
                    orders.append(self._timed(one.order, now))
            for order in {
                order.id: order for order in orders if order.id not in self._ordered
            }.values():
                self._enqueue(connection, order)
        # Of a commit's hundred events within the same time, all but the first have nothing to add.
        kept = self._ordered if len(self._ordered) < _MOST_KNOWN else frozenset()
        self._ordered = kept.union(order.id for order in orders if order.gathered)
        return news

    def received(self, delivery: str) -> bool:
        with self.engine.connect() as connection:
            found = connection.execute(
                sa.select(_DELIVERIES.c.id).where(_DELIVERIES.c.id == delivery)
            )
            return found.first() is not None

    def enqueue(self, order: JobRequest) -> None:
        """Enqueue an order that no delivery brought. The same order again changes nothing."""
        with self.engine.begin() as connection:
            self._enqueue(connection, self._timed(order, time.time()))

    def _timed(self, order: JobRequest, now: float) -> JobRequest:
        return delay_to_period_end(order, self._gather, now) if order.gathered else order

    def _enqueue(self, connection: sa.Connection, order: JobRequest) -> None:
        if order.pull is not None:
            self._set_latest(connection, order.pull, order.id)
        options: EnqueueOptions = {
            "workflow_name": order.workflow,
            "queue_name": order.queue,
            "workflow_id": order.id,
        }
        if order.partition:
            options["queue_partition_key"] = order.partition
        if order.delay > 0:
            options["delay_seconds"] = order.delay
        self.client.enqueue_in_transaction(connection, options, *order.arguments)

    @staticmethod
    def _set_latest(connection: sa.Connection, pull: tuple[int, int], order: str) -> None:
        key = PullKey(*pull)
        if not connection.execute(
            _PULLS.update().where(_here(key)).values(order_id=order)
        ).rowcount:
            connection.execute(_PULLS.insert().values(order_id=order, **asdict(key)))

    def is_latest(self, pull: PullKey, order: str) -> bool:
        """Whether no later order came for the pull request."""
        return self._pull(pull).get("order_id") == order

    def has_running(self, pull: PullKey) -> bool:
        """Whether the latest order for the pull request has not ended."""
        order: str | None = self._pull(pull).get("order_id")
        return order is not None and self.is_running(order)

    def has_workflow(self, order: str) -> bool:
        """Whether the order was given before."""
        return bool(self.client.list_workflows(workflow_ids=[order]))

    def is_running(self, order: str) -> bool:
        """Whether the order waits or is being done."""
        found = self.client.list_workflows(workflow_ids=[order])
        return any(workflow.status in ("ENQUEUED", "DELAYED", "PENDING") for workflow in found)

    def reported_head(self, pull: PullKey) -> str | None:
        """The commit that the last finished review was of."""
        head: str | None = self._pull(pull).get("reported_head")
        return head

    def set_reported(self, pull: PullKey, head: str) -> None:
        with self.engine.begin() as connection:
            connection.execute(_PULLS.update().where(_here(pull)).values(reported_head=head))

    def _pull(self, pull: PullKey) -> dict[str, Any]:
        with self.engine.connect() as connection:
            row = connection.execute(sa.select(_PULLS).where(_here(pull))).mappings().first()
            return dict(row) if row else {}

    def heartbeat(self, worker: str) -> None:
        """Say that `worker` lives."""
        now = time.time()
        with self.engine.begin() as connection:
            if not connection.execute(
                _WORKERS.update().where(_WORKERS.c.id == worker).values(seen_at=now)
            ).rowcount:
                connection.execute(_WORKERS.insert().values(id=worker, seen_at=now))

    def claim_stale_workers(self, after: float) -> list[str]:
        """Workers silent for `after` seconds, each claimed by one caller alone; who claims one and dies loses it
        again after the same time."""
        limit = time.time() - after
        claimed = []
        with self.engine.begin() as connection:
            silent = connection.execute(sa.select(_WORKERS).where(_WORKERS.c.seen_at < limit)).all()
            for worker, seen_at in silent:
                same = sa.and_(_WORKERS.c.id == worker, _WORKERS.c.seen_at == seen_at)
                if connection.execute(
                    _WORKERS.update().where(same).values(seen_at=time.time())
                ).rowcount:
                    claimed.append(worker)
        return claimed

    def remove_worker(self, worker: str) -> None:
        with self.engine.begin() as connection:
            connection.execute(_WORKERS.delete().where(_WORKERS.c.id == worker))

    def delete_old_deliveries(self) -> None:
        """Delete deliveries that cannot come again."""
        with self.engine.begin() as connection:
            connection.execute(
                _DELIVERIES.delete().where(_DELIVERIES.c.received_at < time.time() - _KEPT)
            )


def open_store(settings: Settings) -> Store:
    """The store of the settings. Raises `UserError` where the database cannot be opened."""
    try:
        return Store(settings.database, settings.ci_gather)
    except sa.exc.SQLAlchemyError as error:
        raise UserError("database", reason=redact(str(error).splitlines()[0])) from None


def delay_to_period_end(order: JobRequest, period: float, now: float) -> JobRequest:
    """The order that `order` is part of: one for each `period`, which begins when the period of `now` is over.

    What comes while that one runs is part of the next, so that nothing that came is overlooked.
    """
    number = int(now // period)
    return replace(order, id=f"{order.id}-{number}", delay=(number + 1) * period - now)


def _here(pull: PullKey) -> sa.ColumnElement[bool]:
    return sa.and_(_PULLS.c.repository_id == pull.repository_id, _PULLS.c.number == pull.number)


def _insert(engine: sa.Engine) -> Callable[[sa.Table], sqlite.Insert | postgresql.Insert]:
    """The dialect's INSERT, which can leave alone what is there."""
    return postgresql.insert if engine.dialect.name == "postgresql" else sqlite.insert
