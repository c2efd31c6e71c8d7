"""Connections to the database: SQLite's settings, and what differs between it and PostgreSQL."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

_PATIENCE_MS = 30_000
_TABLES_LOCK = 7316
# PostgreSQL's classes: connection, rollback of a transaction, resources, intervention, system.
_PASSING_STATES = ("08", "40", "53", "57", "58")
_READ_ONLY = "25006"


def engine_for(url: str) -> sa.Engine:
    """The database of SQLAlchemy's `url`, not yet connected to."""
    url = url.replace("postgresql://", "postgresql+psycopg://", 1)
    engine = sa.create_engine(url, pool_pre_ping=True)
    if engine.dialect.name == "sqlite":
        sa.event.listen(engine, "connect", _prepare_sqlite)
    return engine


def steps_engine(url: str) -> sa.Engine | None:
    """For what workflows write down of their steps, on SQLite; None where DBOS's own does.

    A step is not waited for until it is on the disk, because webhooks wait for the same file. A
    power cut may take back the steps of the last moment. They are done again, and each looks first
    whether it has had its effect. Webhooks, and what may be sent only once, are on the disk before
    the next thing is done.
    """
    engine = engine_for(url)
    if engine.dialect.name != "sqlite":
        return None
    sa.event.listen(engine, "connect", _prepare_steps)
    sa.event.listen(engine, "handle_error", _told_as_a_lock)
    return engine


def _prepare_sqlite(connection: Any, _: Any) -> None:
    """Writers wait for each other instead of failing, and readers do not wait for writers."""
    connection.isolation_level = "IMMEDIATE"
    connection.execute(f"PRAGMA busy_timeout={_PATIENCE_MS}")
    connection.execute("PRAGMA journal_mode=WAL")


def _prepare_steps(connection: Any, _: Any) -> None:
    connection.execute("PRAGMA foreign_keys=ON")
    connection.execute("PRAGMA synchronous=NORMAL")


def _told_as_a_lock(context: sa.engine.ExceptionContext) -> sa.exc.OperationalError | None:
    """The error in place of a full disk's. DBOS waits for SQLite's locks, but where the disk is
    full what a step has done would be lost, and its workflow at an end."""
    error = context.original_exception
    if getattr(error, "sqlite_errorcode", None) != sqlite3.SQLITE_FULL:
        return None
    locked = sqlite3.OperationalError(f"database is locked ({error})")
    return sa.exc.OperationalError(context.statement, context.parameters, locked)


def _tell_milliseconds(connection: Any, _: Any) -> None:
    if isinstance(connection, sqlite3.Connection):
        connection.create_function("unixepoch", 1, lambda _: time.time())


def _told_as_lost(context: sa.engine.ExceptionContext) -> None:
    """A server that takes no writes became a standby: its connections are given up, as of one that
    is away. DBOS waits for that one, where else the workflow would never end."""
    if getattr(context.original_exception, "sqlstate", None) == _READ_ONLY:
        context.is_disconnect = True


# DBOS has engines of its own.
sa.event.listen(sa.Engine, "handle_error", _told_as_lost)


# From Python 3.12 on DBOS asks SQLite for `unixepoch('subsec')`, in connections of its own too.
# SQLite has it since 3.42, and a Python may be built with an older one.
if sqlite3.sqlite_version_info < (3, 42):
    sa.event.listen(sa.Engine, "connect", _tell_milliseconds)


def lock(connection: sa.Connection, number: int) -> None:
    """Go on alone until the transaction ends: of those that ask for `number`, or, on SQLite, of
    all."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.text(f"SELECT pg_advisory_xact_lock({number})"))
    else:
        begin_to_write(connection)


def clock(connection: sa.Connection) -> float:
    """Seconds since 1970 on the clock that all who use the database have in common: PostgreSQL's,
    or that of the one machine that SQLite is on. What one process notes and another waits for is
    told by it, for of two machines one may have a wrong clock."""
    if connection.dialect.name != "postgresql":
        return time.time()
    told = sa.text("SELECT extract(epoch FROM clock_timestamp())::float8")
    return float(connection.execute(told).scalar_one())


def begin_to_write(connection: sa.Connection) -> None:
    """On SQLite, begin the transaction as soon as another writer's ends.

    SQLite itself looks less and less often, every tenth of a second in the end, and misses the
    moments between the writers of a busy file. Elsewhere writers do not wait for each other.
    """
    if connection.dialect.name != "sqlite":
        return
    deadline = time.monotonic() + _PATIENCE_MS / 1000
    connection.exec_driver_sql("PRAGMA busy_timeout=1")
    try:
        begun = False
        while not begun:
            begun = _try_to_begin(connection, last=time.monotonic() > deadline)
    finally:
        connection.exec_driver_sql(f"PRAGMA busy_timeout={_PATIENCE_MS}")


def _try_to_begin(connection: sa.Connection, *, last: bool) -> bool:
    """Whether the transaction is begun. On the `last` attempt, raises SQLite's error."""
    try:
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    except sa.exc.OperationalError as error:
        is_busy = getattr(error.orig, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY
        if last or not is_busy:
            raise
        return False
    return True


def workflow_table(engine: sa.Engine) -> str:
    """DBOS's table of workflows, which is in a schema of its own where there are schemas."""
    return "workflow_status" if engine.dialect.name == "sqlite" else "dbos.workflow_status"


def create(engine: sa.Engine, tables: sa.MetaData) -> None:
    """Make those of the tables that are not there.

    Several processes may start at once: the first that holds the lock makes them.
    """
    with engine.begin() as connection:
        present = set(sa.inspect(connection).get_table_names())
        if not tables.tables.keys() <= present:
            lock(connection, _TABLES_LOCK)
            tables.create_all(connection)


def is_database_away(error: sa.exc.SQLAlchemyError) -> bool:
    """Whether the database did not do what it was asked for a reason that passes: a connection that
    was lost or cannot be had, a lock, a full disk.

    Such errors come as `OperationalError` and `InterfaceError`; a mistake of ours comes as another.
    """
    if isinstance(error, sa.exc.TimeoutError | sa.exc.OperationalError | sa.exc.InterfaceError):
        return True
    # A transaction that was in the way of another one, and a server that shuts down.
    state = getattr(getattr(error, "orig", None), "sqlstate", None) or ""
    is_invalid = isinstance(error, sa.exc.DBAPIError) and error.connection_invalidated
    return is_invalid or state[:2] in _PASSING_STATES


def put(
    connection: sa.Connection, table: sa.Table, key: Mapping[str, Any], values: Mapping[str, Any]
) -> None:
    """Write the row that `key` names, new or over what it was. Of two who write it at once none
    fails."""
    row = insert(connection.engine)(table).values(**key, **values)
    connection.execute(row.on_conflict_do_update(index_elements=list(key), set_=dict(values)))


def insert(engine: sa.Engine) -> Callable[[sa.Table], sqlite.Insert | postgresql.Insert]:
    """The dialect's INSERT, which can do something else where there is such a row."""
    return postgresql.insert if engine.dialect.name == "postgresql" else sqlite.insert


def where(table: sa.Table, key: Mapping[str, Any]) -> sa.ColumnElement[bool]:
    """The rows with these values."""
    return sa.and_(*(table.c[name] == value for name, value in key.items()))
