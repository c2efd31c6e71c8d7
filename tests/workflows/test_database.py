"""What is leant on in the database, whatever SQLite the interpreter was built with."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa
import time_machine

from bot.db import engine
from bot.db.deliveries import Store
from bot.db.engine import begin_to_write, engine_for, put
from bot.db.rate_limits import WriteLedger
from bot.github.app import Endpoint
from bot.jobs.requests import JobRequest
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


@pytest.mark.parametrize("wrong_by", [-3600.0, 3600.0])
def test_what_processes_wait_for_is_told_by_one_clock(wrong_by):
    """One of two workers has a clock that is an hour wrong."""
    if why := missing():
        pytest.skip(why)
    with postgres() as url:
        store = Store(url)
        ledger = WriteLedger(store.engine, Endpoint(gap=0.0, hourly=8))
        store.heartbeat("right")
        assert [ledger.reserve(1, None, 2.0) < 1 for _ in range(9)] == [True] * 8 + [False]
        with time_machine.travel(time.time() + wrong_by, tick=True):
            assert store.claim_stale_workers(30, "wrong") == []
            assert 3500 < ledger.reserve(1, None, 2.0) <= 3600
            store.heartbeat("wrong")
            store.enqueue(JobRequest("closed", "reviews", "later", ({},), delay=60.0))
        assert store.claim_stale_workers(30, "right") == []
        assert store.claim_stale_workers(-1, "right") == ["wrong"]
        (later,) = store.client.list_workflows(workflow_ids=["later"])
        assert later.delay_until_epoch_ms is not None
        assert 30 < later.delay_until_epoch_ms / 1000 - store.now() <= 60
        store.close()
