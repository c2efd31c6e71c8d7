"""Deliveries that failed, as GitHub lists them, and how far that list was read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass

import sqlalchemy as sa

from bot.db.engine import create, put

_TABLES = sa.MetaData()
_FAILED = sa.Table(
    "specbot_failed_deliveries",
    _TABLES,
    sa.Column("guid", sa.String(64), primary_key=True),
    # GitHub's id of the last attempt.
    sa.Column("attempt", sa.BigInteger, nullable=False),
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False),
    # The attempt after which it was asked for again; 0 for none.
    sa.Column("asked_after", sa.BigInteger, nullable=False),
)
_MARK = sa.Table(
    "specbot_deliveries_read",
    _TABLES,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("newest", sa.Float, nullable=False),
    sa.Column("until", sa.Float, nullable=False),
    sa.Column("goes_on_at", sa.Text, nullable=False),
)


@dataclass(frozen=True)
class FailedDelivery:
    """An attempt that failed: the webhook's guid, GitHub's id of the attempt, and when it was."""

    guid: str
    attempt: int
    at: float


@dataclass(frozen=True)
class ReadMark:
    """How far the list was read.

    `newest`: the last attempt that was seen. Where a look was cut short, `goes_on_at` is the
    address of the page after, and `until` where that look was to end.
    """

    newest: float = 0.0
    until: float = 0.0
    goes_on_at: str = ""


class Redeliveries:
    """The tables. One worker at a time looks; two would ask twice, which does no harm."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        create(engine, _TABLES)

    def mark(self) -> ReadMark:
        query = sa.select(_MARK.c.newest, _MARK.c.until, _MARK.c.goes_on_at)
        with self._engine.connect() as connection:
            row = connection.execute(query).first()
        return ReadMark(*row) if row else ReadMark()

    def set_mark(self, newest: float, until: float, goes_on_at: str) -> None:
        values = asdict(ReadMark(newest, until, goes_on_at))
        with self._engine.begin() as connection:
            put(connection, _MARK, {"id": 1}, values)

    def note(self, failed: Iterable[FailedDelivery]) -> None:
        """Count attempts that were not seen before."""
        with self._engine.begin() as connection:
            # The oldest first: the row keeps the last.
            for one in sorted(failed, key=lambda one: (one.at, one.attempt)):
                self._note(connection, one)

    @staticmethod
    def _note(connection: sa.Connection, one: FailedDelivery) -> None:
        same = sa.select(_FAILED).where(_FAILED.c.guid == one.guid)
        row = connection.execute(same).mappings().first()
        if row is None:
            values = asdict(one) | {"attempts": 1, "asked_after": 0}
            connection.execute(_FAILED.insert().values(values))
        elif one.attempt != row["attempt"] and one.at >= row["at"]:
            values = {"attempt": one.attempt, "at": one.at, "attempts": row["attempts"] + 1}
            connection.execute(_FAILED.update().where(_FAILED.c.guid == one.guid).values(values))

    def due(self, before: float, most_attempts: int, most: int) -> list[FailedDelivery]:
        """Those whose last attempt is of `before`, was not followed by a request of ours, and is
        not the last that is worth it."""
        query = sa.select(_FAILED.c.guid, _FAILED.c.attempt, _FAILED.c.at).where(
            _FAILED.c.at < before,
            _FAILED.c.attempts < most_attempts,
            _FAILED.c.asked_after != _FAILED.c.attempt,
        )
        with self._engine.connect() as connection:
            rows = connection.execute(query.order_by(_FAILED.c.at).limit(most)).all()
        return [FailedDelivery(*row) for row in rows]

    def asked(self, guid: str) -> None:
        """Note that another attempt was asked for."""
        values = {"asked_after": _FAILED.c.attempt}
        with self._engine.begin() as connection:
            connection.execute(_FAILED.update().where(_FAILED.c.guid == guid).values(values))

    def settle(self, guid: str) -> None:
        """Forget one that arrived, or that GitHub has no more."""
        with self._engine.begin() as connection:
            connection.execute(_FAILED.delete().where(_FAILED.c.guid == guid))

    def forget_before(self, limit: float) -> None:
        """Forget what GitHub does not send any more."""
        with self._engine.begin() as connection:
            connection.execute(_FAILED.delete().where(_FAILED.c.at < limit))
