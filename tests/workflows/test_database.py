"""What is leant on in the database, whatever SQLite the interpreter was built with."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa

from bot.db import engine
from bot.db.engine import begin_to_write, engine_for, put
from tests.workflows.databases import missing, postgres


def test_sqlite_tells_milliseconds():
    """DBOS asks for them in connections of its own, from Python 3.12 on."""
    with sa.create_engine("sqlite://").connect() as connection:
        told = connection.execute(sa.text("SELECT unixepoch('subsec')")).scalar_one()
    assert abs(told - time.time()) < 60


@pytest.fixture
def file(tmp_path):
    return engine_for(f"sqlite:///{tmp_path}/one.sqlite")


def test_a_writer_of_sqlite_waits_for_the_one_before(file):
    order = []
    with file.begin() as first, ThreadPoolExecutor(1) as pool:
        begin_to_write(first)

        def second() -> None:
            with file.begin() as connection:
                order.append("asks")
                begin_to_write(connection)
                order.append("writes")

        asked = pool.submit(second)
        while not order:
            time.sleep(0.001)
        time.sleep(0.05)
        assert order == ["asks"]
        first.commit()
        asked.result()
    assert order == ["asks", "writes"]


def test_it_does_not_wait_for_ever(file, monkeypatch):
    monkeypatch.setattr(engine, "_PATIENCE_MS", 20)
    with file.begin() as first:
        begin_to_write(first)
        with pytest.raises(sa.exc.OperationalError, match="locked"), file.begin() as second:
            begin_to_write(second)
    with file.begin() as third:
        begin_to_write(third)


def test_what_is_no_waiting_is_said_at_once(file):
    with file.begin() as connection:
        begin_to_write(connection)
        with pytest.raises(sa.exc.OperationalError, match="within a transaction"):
            begin_to_write(connection)


def test_two_who_write_one_new_row_at_once():
    """As two web processes do when a pull request is opened and pushed to within a moment."""
    if why := missing():
        pytest.skip(why)
    rows = sa.Table(
        "rows",
        sa.MetaData(),
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("at", sa.Float),
    )
    with postgres() as url, ThreadPoolExecutor(1) as pool:
        server = engine_for(url)
        rows.metadata.create_all(server)

        def second() -> None:
            with server.begin() as connection:
                put(connection, rows, {"id": 1}, {"at": 2.0})

        with server.begin() as connection:
            put(connection, rows, {"id": 1}, {"at": 1.0})
            written = pool.submit(second)
            time.sleep(0.2)
        written.result()
        with server.connect() as connection:
            assert connection.execute(sa.select(rows)).all() == [(1, 2.0)]
        server.dispose()
