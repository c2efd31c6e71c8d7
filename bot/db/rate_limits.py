"""How quickly all workers together may write to GitHub for one installation, kept in the database.

GitHub counts the writes of an installation, whichever worker they come from and however often it
was started. Each write has a moment of its own. A workflow whose moment is far away leaves its
place until then, and finds the moment kept.

No account and no repository gets all of an hour: what one person's pull requests and commands
cause is a quarter at most, so that nobody waits until a stranger's work is done.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import sqlalchemy as sa
from dbos import DBOS

from bot.db.claims import current_claim, holds
from bot.db.engine import clock, create, lock
from bot.db.moments import Bucket, Limit, first_free
from bot.github import RateLimited
from bot.github.app import Endpoint
from bot.github.rate_limit import HOUR, RateLimiter

_LOCK = 7318
# Of the writes of an hour.
_ACCOUNT_SHARE = 0.25
_REPOSITORY_SHARE = 0.75
# Writes that one account may send in a row: those of a review and of an answer. After them it has
# every fourth moment, and the others are for whoever else writes.
_BURST = 6
_TABLES = sa.MetaData()
_WRITES = sa.Table(
    "specbot_writes",
    _TABLES,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("installation", sa.BigInteger, nullable=False),
    sa.Column("at", sa.Float, nullable=False),
    # Who waits for that moment; nobody where the write was sent.
    sa.Column("workflow", sa.String(128)),
    # Whose work it is, and where; not known of what was written by an older version.
    sa.Column("account", sa.BigInteger),
    sa.Column("repository", sa.String(200)),
    sa.Index("specbot_writes_of", "installation", "at"),
)


@dataclass(frozen=True)
class Payer:
    """Whose work is done: GitHub's id of the account, 0 where nobody asked for it, and the
    repository."""

    account: int
    repository: str


_payer: ContextVar[Payer | None] = ContextVar("payer", default=None)


@contextmanager
def charged_to(account: int, repository: str) -> Iterator[None]:
    """What is written within is of the share of that account and that repository."""
    token = _payer.set(Payer(account, repository))
    try:
        yield
    finally:
        _payer.reset(token)


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

    def reserve(
        self, installation: int, workflow: str | None, patience: float, payer: Payer | None = None
    ) -> float:
        """Seconds until the next write.

        The write counts as sent where those are at most `patience`. Else its moment is kept for
        `workflow`, if there is one to come back, which takes an earlier one that has become free.
        What was sent later than now was sent by a clock that was wrong: it counts as sent now.
        """
        of_installation = _WRITES.c.installation == installation
        with self._engine.begin() as connection:
            lock(connection, _LOCK)
            now = clock(connection)
            connection.execute(_WRITES.delete().where(of_installation, _WRITES.c.at < now - HOUR))
            sent_later = (_WRITES.c.workflow.is_(None), _WRITES.c.at > now + patience)
            connection.execute(_WRITES.update().where(of_installation, *sent_later).values(at=now))
            kept = None
            if workflow:
                own = sa.select(_WRITES).where(of_installation, _WRITES.c.workflow == workflow)
                kept = connection.execute(own).first()
            others = sa.and_(of_installation, _WRITES.c.id != kept.id) if kept else of_installation
            apart = self._apart(connection, others, payer)
            shares = self._shares(connection, others, payer)
            moment = first_free(now, [apart, *shares])
            if kept:
                moment = min(moment, first_free(max(kept.at, now), [apart]))
            sent = moment - now <= patience
            row = {
                "installation": installation,
                "at": moment,
                "workflow": None if sent else workflow,
                "account": payer.account if payer else None,
                "repository": payer.repository if payer else None,
            }
            if kept:
                connection.execute(_WRITES.update().where(_WRITES.c.id == kept.id).values(row))
            elif sent or workflow:
                connection.execute(_WRITES.insert().values(row))
        return moment - now

    def is_ours(self) -> bool:
        """Whether the execution that asks still does its workflow.

        A worker that stood still for long was taken for dead. What it looked for on GitHub before
        may stand there by now, and a write of its own would double it.
        """
        return holds(self._engine, current_claim())

    def _apart(
        self, connection: sa.Connection, others: sa.ColumnElement[bool], payer: Payer | None
    ) -> Limit:
        """Writes that are sent are a gap apart, and so are the promised ones of one account.

        What another account waits for is in nobody's way: it comes a gap after what was sent
        meanwhile.
        """
        own = _WRITES.c.account == payer.account if payer else _WRITES.c.account.is_(None)
        times = self._times(connection, others, sa.or_(_WRITES.c.workflow.is_(None), own))
        return Limit(times, self._hourly, self._gap)

    def _shares(
        self, connection: sa.Connection, others: sa.ColumnElement[bool], payer: Payer | None
    ) -> list[Limit | Bucket]:
        """What an hour has for the installation, for the repository and for the account."""
        shares: list[Limit | Bucket] = [Limit(self._times(connection, others), self._hourly)]
        if payer is not None:
            in_repository = _WRITES.c.repository == payer.repository
            times = self._times(connection, others, in_repository)
            shares.append(Limit(times, self._share(_REPOSITORY_SHARE)))
        if payer is not None and payer.account:
            of_account = _WRITES.c.account == payer.account
            times = self._times(connection, others, of_account)
            shares.append(Limit(times, self._share(_ACCOUNT_SHARE)))
            shares.append(Bucket(times, _BURST, every=self._gap / _ACCOUNT_SHARE))
        return shares

    def _share(self, part: float) -> int:
        return max(1, int(self._hourly * part))

    @staticmethod
    def _times(connection: sa.Connection, *conditions: sa.ColumnElement[bool]) -> Sequence[float]:
        query = sa.select(_WRITES.c.at).where(*conditions).order_by(_WRITES.c.at)
        return connection.execute(query).scalars().all()


class _SharedPace(RateLimiter):
    """Waits for a moment that is near, and raises `RateLimited` where the next one is not."""

    patience = 2.0

    def __init__(self, ledger: WriteLedger, installation: int, gap: float, hourly: int) -> None:
        super().__init__(gap, hourly)
        self._ledger = ledger
        self._installation = installation

    def wait(self) -> None:
        seconds = self._ledger.reserve(
            self._installation, DBOS.workflow_id, self.patience, _payer.get()
        )
        if seconds > self.patience:
            raise RateLimited(429, "the writes of this hour are used up", seconds)
        time.sleep(seconds)
        # Those that came back later than their moment also go one after the other.
        super().wait()
        if DBOS.workflow_id and not self._ledger.is_ours():
            raise RateLimited(409, "another worker has taken this work over", 0.0)
