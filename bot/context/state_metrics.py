"""Numbers for Prometheus that are read when they are asked for: queues, workflows, quotas, disk,
child processes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import sqlalchemy as sa
import structlog
from prometheus_client import REGISTRY
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from bot.db.engine import clock, workflow_table
from bot.github.rate_limit import HOUR
from bot.process_tree import descendants, memory

_log = structlog.get_logger("specbot.metrics")
# What is to begin later waits for its time, and for no place.
_WAITING = "ENQUEUED"
_STATES = ("ENQUEUED", "DELAYED", "PENDING", "ERROR", "MAX_RECOVERY_ATTEMPTS_EXCEEDED")


class StateCollector(Collector):
    """Asks the database at each scrape; what it does not answer is left out, and
    `specbot_database_up` says so."""

    def __init__(self, engine: sa.Engine, data_dir: Path, writes_per_hour: int) -> None:
        self._engine = engine
        self._data_dir = data_dir
        self._writes_per_hour = writes_per_hour

    def describe(self) -> Iterator[Metric]:
        """Nothing is promised before it is asked for: the database may be away now."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        up = GaugeMetricFamily("specbot_database_up", "Whether the database answers")
        found: list[Metric] = []
        try:
            with self._engine.connect() as connection:
                found += _workflows(connection)
                found += self._writes(connection)
                found += _workers(connection)
            up.add_metric([], 1)
        except sa.exc.SQLAlchemyError as error:
            _log.warning("the database does not answer", error=str(error))
            up.add_metric([], 0)
        yield up
        yield from found
        yield self._disk()
        yield from _children()

    def _writes(self, connection: sa.Connection) -> Iterator[Metric]:
        sent = GaugeMetricFamily(
            "specbot_writes_last_hour",
            "Writes to GitHub of the last hour",
            labels=["installation"],
        )
        left = GaugeMetricFamily(
            "specbot_writes_left", "Writes left of the hour", labels=["installation"]
        )
        query = sa.text(
            "SELECT installation, COUNT(*) FROM specbot_writes "
            "WHERE at BETWEEN :since AND :now GROUP BY installation"
        )
        now = clock(connection)
        for installation, count in connection.execute(query, {"since": now - HOUR, "now": now}):
            sent.add_metric([str(installation)], count)
            left.add_metric([str(installation)], max(0, self._writes_per_hour - count))
        yield sent
        yield left

    def _disk(self) -> Metric:
        free = GaugeMetricFamily("specbot_disk_free_bytes", "Room for the database and clones")
        if self._data_dir.exists():
            free.add_metric([], shutil.disk_usage(self._data_dir).free)
        return free


def _workflows(connection: sa.Connection) -> Iterator[Metric]:
    states = GaugeMetricFamily(
        "specbot_workflows", "Workflows that have not ended well", labels=["name", "state"]
    )
    depth = GaugeMetricFamily(
        "specbot_queue_depth", "Workflows that wait for a place", labels=["queue"]
    )
    age = GaugeMetricFamily(
        "specbot_queue_oldest_seconds", "Age of the one that waits longest", labels=["queue"]
    )
    table = workflow_table(connection.engine)
    query = sa.text(
        f"SELECT name, status, queue_name, COUNT(*), MIN(created_at) FROM {table} "
        "WHERE status IN :states GROUP BY name, status, queue_name"
    ).bindparams(sa.bindparam("states", list(_STATES), expanding=True))
    by_state: dict[tuple[str, str], int] = {}
    by_queue: dict[str, tuple[int, float]] = {}
    now = clock(connection) * 1000
    for name, status, queue, count, oldest in connection.execute(query):
        by_state[name, status] = by_state.get((name, status), 0) + count
        if status == _WAITING and queue:
            before, longest = by_queue.get(queue, (0, 0.0))
            by_queue[queue] = before + count, max(longest, (now - oldest) / 1000)
    for (name, status), count in by_state.items():
        states.add_metric([name, status], count)
    for queue, (count, longest) in by_queue.items():
        depth.add_metric([queue], count)
        age.add_metric([queue], longest)
    yield from (states, depth, age)


def _children() -> Iterator[Metric]:
    """Reviews, and what else runs apart from this process."""
    children = [pid for pid in descendants(os.getpid()) if pid != os.getpid()]
    yield GaugeMetricFamily("specbot_children", "Processes that this one started", len(children))
    yield GaugeMetricFamily(
        "specbot_children_memory_bytes",
        "Memory of those; of what several share, each has its part",
        memory(children),
    )


def _workers(connection: sa.Connection) -> Iterator[Metric]:
    silent = GaugeMetricFamily(
        "specbot_worker_silent_seconds", "Since the worker's last heartbeat", labels=["worker"]
    )
    now = clock(connection)
    for worker, seen_at in connection.execute(sa.text("SELECT id, seen_at FROM specbot_workers")):
        silent.add_metric([str(worker)], max(0.0, now - seen_at))
    yield silent


def register(engine: sa.Engine, data_dir: Path, writes_per_hour: int) -> Collector:
    """Add the numbers to those of this process."""
    collector = StateCollector(engine, data_dir, writes_per_hour)
    REGISTRY.register(collector)
    return collector
