"""What DBOS leans on in the database, whatever SQLite the interpreter was built with."""

from __future__ import annotations

import time

import sqlalchemy as sa

import bot.service.database  # noqa: F401 - it teaches SQLite what an old one does not know


def test_sqlite_tells_milliseconds():
    """DBOS asks for them in connections of its own, from Python 3.12 on."""
    with sa.create_engine("sqlite://").connect() as connection:
        told = connection.execute(sa.text("SELECT unixepoch('subsec')")).scalar_one()
    assert abs(told - time.time()) < 60
