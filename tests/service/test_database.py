"""What DBOS leans on in the database, whatever SQLite the interpreter was built with."""

from __future__ import annotations

import time

import sqlalchemy as sa

from bot.service import database


def test_sqlite_tells_milliseconds():
    """DBOS asks for them in connections of its own, from Python 3.12 on."""
    assert database
    with sa.create_engine("sqlite://").connect() as connection:
        told = connection.execute(sa.text("SELECT unixepoch('subsec')")).scalar_one()
    assert abs(told - time.time()) < 60
