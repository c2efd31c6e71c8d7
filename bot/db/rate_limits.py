"""How quickly all workers together may write to GitHub for one installation, kept in the database.

GitHub counts the writes of an installation, whichever worker they come from and however often it
was started. Each write has a moment of its own. A workflow whose moment is far away leaves its
place until then, and finds the moment kept.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import sqlalchemy as sa
from dbos import DBOS

from bot.db.engine import create, lock
from bot.github import Endpoint, RateLimited
from bot.github.rate_limit import HOUR, RateLimiter

_LOCK = 7318
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
        self._gap = endpoint.gap
        self._hourly = endpoint.hourly
        create(engine, _TABLES)

    def pace(self, installation: int) -> RateLimiter:
        """The pace that all workers keep together for `installation`."""
        return _SharedPace(self, installation, self._gap, self._hourly)

    def reserve(self, installation: int, workflow: str | None, patience: float) -> float:
        """Seconds until the next write.

        The write counts as sent where those are at most `patience`. Else its moment is kept for
        `workflow`, if there is one to come back.
        """
        now = time.time()
        of_installation = _WRITES.c.installation == installation
        with self._engine.begin() as connection:
            lock(connection, _LOCK)
            connection.execute(_WRITES.delete().where(of_installation, _WRITES.c.at < now - HOUR))
            kept = None
            if workflow:
                own = sa.select(_WRITES).where(of_installation, _WRITES.c.workflow == workflow)
                kept = connection.execute(own).first()
            moment: float
            if kept:
                moment = max(kept.at, now)
            else:
                moment = self._next_moment(connection, of_installation, now)
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

    def _next_moment(
        self, connection: sa.Connection, of_installation: sa.ColumnElement[bool], now: float
    ) -> float:
        """The first moment after all that are taken."""
        query = sa.select(_WRITES.c.at).where(of_installation).order_by(_WRITES.c.at.desc())
        taken: Sequence[float] = connection.execute(query.limit(self._hourly)).scalars().all()
        if not taken:
            return now
        moment = max(now, taken[0] + self._gap)
        if len(taken) == self._hourly:
            moment = max(moment, taken[-1] + HOUR)
        return moment


class _SharedPace(RateLimiter):
    """Waits for a moment that is near, and raises `RateLimited` where the next one is not."""

    patience = 2.0

    def __init__(self, ledger: WriteLedger, installation: int, gap: float, hourly: int) -> None:
        super().__init__(gap, hourly)
        self._ledger = ledger
        self._installation = installation

    def wait(self) -> None:
        seconds = self._ledger.reserve(self._installation, DBOS.workflow_id, self.patience)
        if seconds > self.patience:
            raise RateLimited(429, "the writes of this hour are used up", seconds)
        time.sleep(seconds)
        # Those that came back later than their moment also go one after the other.
        super().wait()
