"""How quickly all workers together may write to GitHub for one installation, kept in the database.

GitHub counts the writes of an installation, whichever worker they come from and however often it was started. Each
write has a moment of its own; a workflow whose moment is far leaves its place until then, and finds it kept.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import sqlalchemy as sa
from dbos import DBOS

from bot.db.engine import create, lock
from bot.github import Endpoint, RateLimited
from bot.github.rate_limit import HOUR, Pace

_TABLES = sa.MetaData()
_WRITES = sa.Table(
    "specbot_writes",
    _TABLES,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("installation", sa.BigInteger, nullable=False),
    sa.Column("at", sa.Float, nullable=False),
    # Who waits for that moment; nobody where the write was sent.
    sa.Column("workflow", sa.String(128)),
    sa.Index("specbot_writes_of", "installation", "at"),
)


class WriteLedger:
    """The table. Safe to use from several threads."""

    def __init__(self, engine: sa.Engine, endpoint: Endpoint) -> None:
        self._engine = engine
        self._gap, self._hourly = endpoint.gap, endpoint.hourly
        create(engine, _TABLES)

    def pace(self, installation: int) -> Pace:
        """The pace that all workers keep together for `installation`."""
        return _SharedPace(self, installation, self._gap, self._hourly)

    def turn(self, installation: int, workflow: str | None, patience: float) -> float:
        """Seconds until the next write. It counts as sent where those are at most `patience`, else its moment is kept
        for `workflow`, if there is one to come back."""
        of, now = _WRITES.c.installation == installation, time.time()
        with self._engine.begin() as connection:
            lock(connection, 7318)
            connection.execute(_WRITES.delete().where(of, _WRITES.c.at < now - HOUR))
            mine = sa.select(_WRITES).where(of, _WRITES.c.workflow == workflow)
            kept = connection.execute(mine).first() if workflow else None
            moment = max(kept.at, now) if kept else self._next(connection, of, now)
            sent = moment - now <= patience
            row = {
                "installation": installation,
                "at": moment,
                "workflow": None if sent else workflow,
            }
            if kept:
                connection.execute(_WRITES.update().where(_WRITES.c.id == kept.id).values(row))
            elif sent or workflow:
                connection.execute(_WRITES.insert().values(row))
        return moment - now

    def _next(self, connection: sa.Connection, of: sa.ColumnElement[bool], now: float) -> float:
        """The first moment after all that are given."""
        latest = sa.select(_WRITES.c.at).where(of).order_by(_WRITES.c.at.desc()).limit(self._hourly)
        given: Sequence[float] = connection.execute(latest).scalars().all()
        if not given:
            return now
        free = given[-1] + HOUR if len(given) == self._hourly else now
        return max(now, given[0] + self._gap, free)


class _SharedPace(Pace):
    """Waits for a moment that is near, and raises `Limited` where the next one is not."""

    patience = 2.0

    def __init__(self, writes: WriteLedger, installation: int, gap: float, hourly: int) -> None:
        super().__init__(gap, hourly)
        self._writes = writes
        self._installation = installation

    def wait(self) -> None:
        left = self._writes.turn(self._installation, DBOS.workflow_id, self.patience)
        if left > self.patience:
            raise RateLimited(429, "the writes of this hour are used up", left)
        time.sleep(left)
        # Of those that came back later than their moment, too, one goes after the other.
        super().wait()
