"""Our tables, in the database that also holds the queues: deliveries, pull requests and workers.

They are in one database so that a delivery is stored and its work enqueued in one transaction.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from dbos import (
    DBOSClient,
    DBOSPortableJSONSerializer,
    EnqueueOptions,
    run_dbos_database_migrations,
)

from bot.db.engine import begin_to_write, clock, engine_for, insert, lock, put, where
from bot.db.migrate import migrate
from bot.errors import UserError
from bot.files import require_room
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
# Seconds. GitHub lists deliveries for three days; a guid older than that cannot come again.
_KEPT = 7 * 24 * 3600.0
_MOST_REMEMBERED = 10_000
# The id of a row that is never kept.
_PROBE = "probe"
# One process at a time makes the tables.
_TABLES_LOCK = 7315
# A workflow that has not ended.
_UNFINISHED = ("ENQUEUED", "DELAYED", "PENDING")


@dataclass(frozen=True)
class PullKey:
    """A pull request, by GitHub's id of its repository, which outlives a change of name."""

    repository_id: int
    number: int


class Store:
    """The database. Safe to use from several threads.

    `batching_period` is in seconds: requests that are batched begin when it is over.
    """

    def __init__(self, url: str, batching_period: float = 30.0) -> None:
        self._batching_period = batching_period
        self._remembered: frozenset[str] = frozenset()
        self.engine = engine_for(url)
        self.check()
        run_dbos_database_migrations(url)
        migrate(self.engine)
        self._create_tables()
        self.client = DBOSClient(system_database_url=url, serializer=DBOSPortableJSONSerializer())

    def _create_tables(self) -> None:
        """Several processes may start at once: the first that holds the lock makes everything."""
        with self.engine.begin() as connection:
            lock(connection, _TABLES_LOCK)
            _TABLES.create_all(connection)
            if connection.execute(sa.select(_SINCE.c.at)).first() is None:
                connection.execute(_SINCE.insert().values(id=1, at=time.time()))

    def close(self) -> None:
        """Close all connections."""
        self.client.destroy()
        self.engine.dispose()

    def check(self) -> None:
        """Raise SQLAlchemy's error where the database does not answer."""
        with self.engine.connect() as connection:
            connection.execute(sa.select(1))

    def check_writing(self) -> None:
        """Raise SQLAlchemy's error where the database does not take a row, and `OSError` where
        SQLite's disk is full."""
        with self.engine.connect() as connection:
            begin_to_write(connection)
            key = {"id": _PROBE, "event": "probe", "received_at": time.time()}
            connection.execute(_DELIVERIES.insert().values(key))
            connection.rollback()
        file = self.engine.url.database
        if self.engine.dialect.name == "sqlite" and file:
            # A row that is taken back needs no room on the disk.
            require_room(Path(file).parent)

    def now(self) -> float:
        """The time on the clock that all processes have in common."""
        with self.engine.connect() as connection:
            return clock(connection)

    @property
    def since(self) -> float:
        """The second in which the service first ran: what was before is not its business.

        GitHub's times are whole seconds; what came later in this second must not look older.
        """
        with self.engine.connect() as connection:
            first_run: float = connection.execute(sa.select(_SINCE.c.at)).scalar_one()
        return float(math.floor(first_run))

    def receive(self, deliveries: Iterable[Delivery]) -> list[bool]:
        """Store deliveries and enqueue their requests, in one transaction.

        False for each delivery that was received before.
        """
        listed = list(deliveries)
        now = time.time()
        with self.engine.begin() as connection:
            begin_to_write(connection)
            new_ids = self._insert_deliveries(connection, listed, now)
            are_new = []
            requests: dict[str, JobRequest] = {}
            for delivery in listed:
                is_new = delivery.id in new_ids
                are_new.append(is_new)
                # The same delivery may come twice within one batch.
                new_ids.discard(delivery.id)
                if is_new and delivery.request is not None:
                    request = self._batched(delivery.request, now)
                    requests[request.id] = request
            for request in requests.values():
                if request.id not in self._remembered:
                    self._enqueue(connection, request)
        self._remember(requests.values())
        return are_new

    def _insert_deliveries(
        self, connection: sa.Connection, deliveries: Iterable[Delivery], now: float
    ) -> set[str]:
        """The ids of those that were not there."""
        rows = [
            {"id": delivery.id, "event": delivery.event, "received_at": now}
            for delivery in deliveries
        ]
        new = insert(self.engine)(_DELIVERIES).on_conflict_do_nothing()
        return set(connection.execute(new.returning(_DELIVERIES.c.id), rows).scalars())

    def _remember(self, requests: Iterable[JobRequest]) -> None:
        """Remember batched requests: of a commit's hundred events within one period, all but the
        first have nothing to add."""
        batched = {request.id for request in requests if request.batched}
        known = self._remembered if len(self._remembered) < _MOST_REMEMBERED else frozenset()
        self._remembered = known | batched

    def received(self, delivery: str) -> bool:
        """Whether the webhook with this id arrived."""
        query = sa.select(_DELIVERIES.c.id).where(_DELIVERIES.c.id == delivery)
        with self.engine.connect() as connection:
            return connection.execute(query).first() is not None

    def enqueue(self, request: JobRequest) -> None:
        """Enqueue a request that no delivery brought. The same request again changes nothing."""
        with self.engine.begin() as connection:
            self._enqueue(connection, self._batched(request, time.time()))

    def _batched(self, request: JobRequest, now: float) -> JobRequest:
        if not request.batched:
            return request
        return delay_to_period_end(request, self._batching_period, now)

    def _enqueue(self, connection: sa.Connection, request: JobRequest) -> None:
        if request.pull is not None:
            self._set_latest(connection, request.pull, request.id)
        options: EnqueueOptions = {
            "workflow_name": request.workflow,
            "queue_name": request.queue,
            "workflow_id": request.id,
        }
        if request.partition:
            options["queue_partition_key"] = request.partition
        if request.delay > 0:
            # DBOS adds it to the time on this machine, whose clock may be wrong.
            options["delay_seconds"] = request.delay + clock(connection) - time.time()
        self.client.enqueue_in_transaction(connection, options, *request.arguments)

    @staticmethod
    def _set_latest(connection: sa.Connection, pull: tuple[int, int], request: str) -> None:
        key = asdict(PullKey(*pull))
        put(connection, _PULLS, key, {"order_id": request})

    def is_latest(self, pull: PullKey, request: str) -> bool:
        """Whether no later request came for the pull request."""
        return self._pull(pull).get("order_id") == request

    def has_running(self, pull: PullKey) -> bool:
        """Whether the latest request for the pull request has not ended."""
        request: str | None = self._pull(pull).get("order_id")
        return request is not None and self.is_running(request)

    def has_workflow(self, request: str) -> bool:
        """Whether the request was made before."""
        return bool(self.client.list_workflows(workflow_ids=[request]))

    def partition_of(self, request: str) -> str:
        """What the request waits in; empty where it waits for none, or is not known."""
        workflows = self.client.list_workflows(workflow_ids=[request])
        return next((workflow.queue_partition_key or "" for workflow in workflows), "")

    def at_work(self, workflow: str, partition: str) -> list[str]:
        """The requests of that name that are being done, of those that wait in the partition."""
        workflows = self.client.list_workflows(name=workflow, status="PENDING", load_input=False)
        return [one.workflow_id for one in workflows if one.queue_partition_key == partition]

    def is_running(self, request: str) -> bool:
        """Whether the request waits or is being done."""
        workflows = self.client.list_workflows(workflow_ids=[request])
        return any(workflow.status in _UNFINISHED for workflow in workflows)

    def reported_head(self, pull: PullKey) -> str | None:
        """The commit that the last finished review was of."""
        head: str | None = self._pull(pull).get("reported_head")
        return head

    def set_reported(self, pull: PullKey, head: str) -> None:
        """Note that a review of the commit `head` was finished."""
        row = where(_PULLS, asdict(pull))
        with self.engine.begin() as connection:
            connection.execute(_PULLS.update().where(row).values(reported_head=head))

    def _pull(self, pull: PullKey) -> dict[str, Any]:
        query = sa.select(_PULLS).where(where(_PULLS, asdict(pull)))
        with self.engine.connect() as connection:
            row = connection.execute(query).mappings().first()
        return dict(row) if row else {}

    def heartbeat(self, worker: str) -> None:
        """Say that `worker` lives."""
        with self.engine.begin() as connection:
            put(connection, _WORKERS, {"id": worker}, {"seen_at": clock(connection)})

    def claim_stale_workers(self, after: float, claimer: str) -> list[str]:
        """Workers silent for `after` seconds, each claimed by one caller alone.

        Never `claimer`, which lives: its own row is old where its clock jumps, or the database
        keeps it waiting, between its heartbeat and this look. Its work would be done twice.

        Who claims one and dies loses it again after the same time.
        """
        claimed = []
        with self.engine.begin() as connection:
            now = clock(connection)
            is_silent = sa.and_(_WORKERS.c.seen_at < now - after, _WORKERS.c.id != claimer)
            silent = connection.execute(sa.select(_WORKERS).where(is_silent)).all()
            for worker, seen_at in silent:
                # Another caller may have changed the row since.
                unchanged = where(_WORKERS, {"id": worker, "seen_at": seen_at})
                update = _WORKERS.update().where(unchanged).values(seen_at=now)
                if connection.execute(update).rowcount:
                    claimed.append(worker)
        return claimed

    def remove_worker(self, worker: str) -> None:
        """Forget a worker whose work was taken over."""
        with self.engine.begin() as connection:
            connection.execute(_WORKERS.delete().where(_WORKERS.c.id == worker))

    def delete_old_deliveries(self) -> None:
        """Delete deliveries that cannot come again."""
        limit = time.time() - _KEPT
        with self.engine.begin() as connection:
            connection.execute(_DELIVERIES.delete().where(_DELIVERIES.c.received_at < limit))


def open_store(settings: Settings) -> Store:
    """The store of the settings. Raises `UserError` where the database cannot be opened."""
    try:
        return Store(settings.database, settings.ci_gather)
    except sa.exc.SQLAlchemyError as error:
        raise UserError("database", reason=redact(str(error).splitlines()[0])) from None


def delay_to_period_end(request: JobRequest, period: float, now: float) -> JobRequest:
    """The request that `request` is part of: one for each `period`, which begins when the period of
    `now` is over.

    What comes while that one runs is part of the next, so that nothing that came is overlooked.
    """
    number = int(now // period)
    return replace(request, id=f"{request.id}-{number}", delay=(number + 1) * period - now)
