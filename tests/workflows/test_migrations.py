"""A database of any state that landed is brought to the newest, and what it held is there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.config import Config
from alembic.script import ScriptDirectory

from bot.db import migrate as module
from bot.db.commands import Records
from bot.db.deliveries import PullKey, open_store
from bot.db.engine import engine_for
from bot.db.migrate import NEWEST, VERSION_TABLE, migrate, version
from bot.errors import UserError
from bot.web.page_store import PageStore
from tests.workflows.databases import missing, postgres

# The statements that made the tables, as each state of the code printed them.
LANDED = json.loads(Path(__file__).with_name("landed_schemas.json").read_text())
_DROP = "DROP SCHEMA public CASCADE; CREATE SCHEMA public"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    if missing():
        yield ""
        return
    with postgres() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def engine(request: pytest.FixtureRequest, tmp_path: Path, server: str) -> Iterator[sa.Engine]:
    if request.param == "sqlite":
        made = engine_for(f"sqlite:///{tmp_path}/specbot.sqlite")
    elif not server:
        pytest.skip(missing())
    else:
        made = engine_for(server)
        with made.begin() as connection:
            connection.execute(sa.text(_DROP))
    yield made
    made.dispose()


def value(column: sa.engine.interfaces.ReflectedColumn) -> object:
    if isinstance(column["type"], sa.JSON) or column["name"] in (
        "data",
        "order",
        "files",
        "evidence",
    ):
        return '{"kept": 1}'
    if isinstance(column["type"], sa.Boolean):
        return True
    return 7 if isinstance(column["type"], sa.Integer | sa.Float | sa.Numeric) else "kept"


def build(engine: sa.Engine, statements: list[str]) -> dict[str, int]:
    """The old tables with a row each; gives how many rows there are by table."""
    with engine.begin() as connection:
        for statement in statements:
            connection.execute(sa.text(statement))
    rows = {}
    with engine.begin() as connection:
        for table in sa.inspect(connection).get_table_names():
            columns = sa.inspect(connection).get_columns(table)
            named = ", ".join(f'"{c["name"]}"' for c in columns)
            bound = ", ".join(f":{c['name']}" for c in columns)
            insert = sa.text(f"INSERT INTO {table} ({named}) VALUES ({bound})")
            connection.execute(insert, {c["name"]: value(c) for c in columns})
            rows[table] = 1
    return rows


@pytest.mark.parametrize("state", LANDED)
def test_what_a_landed_state_held_is_there_after(engine, state):
    rows = build(engine, LANDED[state][engine.dialect.name])
    migrate(engine)
    assert version(engine) == NEWEST
    with engine.connect() as connection:
        kept = 0
        for table in sa.inspect(connection).get_table_names():
            if table != VERSION_TABLE:
                kept += connection.execute(sa.text(f"SELECT COUNT(*) FROM {table}")).scalar_one()
    assert kept == sum(rows.values())
    if "specbot_reports" in rows or "specbot_last_reviews" in rows:
        reports = [Records(engine).report(PullKey(7, 7)), PageStore(engine).entries("kept", 7)]
        assert any(reports)
    migrate(engine)


def test_an_upgrade_that_is_cut_off_changes_nothing(engine, monkeypatch):
    state = "639327d"
    build(engine, LANDED[state][engine.dialect.name])
    before = sorted(sa.inspect(engine).get_table_names())
    monkeypatch.setattr(module, "NEWEST", "9998")
    with pytest.raises(Exception, match="9998"):
        migrate(engine)
    assert sorted(sa.inspect(engine).get_table_names()) == before
    monkeypatch.undo()
    migrate(engine)
    assert version(engine) == NEWEST


def test_a_newer_database_is_refused_in_a_sentence(tmp_path):
    engine = engine_for(f"sqlite:///{tmp_path}/specbot.sqlite")
    migrate(engine)
    with engine.begin() as connection:
        connection.execute(sa.text(f"UPDATE {VERSION_TABLE} SET version_num = '9999'"))
    with pytest.raises(UserError) as caught:
        migrate(engine)
    assert caught.value.key == "database-newer" and caught.value.args_["found"] == "9999"
    engine.dispose()


def test_the_newest_is_the_last_module():
    config = Config()
    config.set_main_option("script_location", str(module._SCRIPTS))
    assert ScriptDirectory.from_config(config).get_heads() == [NEWEST]


def test_a_new_database_has_what_an_upgraded_one_has(engine):
    """The code's own tables and those of the changes are the same."""
    migrate(engine)
    upgraded = columns_of(engine)
    with engine.begin() as connection:
        tables = [
            name for name in sa.inspect(connection).get_table_names() if name != VERSION_TABLE
        ]
        for table in tables:
            connection.execute(sa.text(f"DROP TABLE {table}"))
    for metadata in declared():
        metadata.create_all(engine)
    assert columns_of(engine) == upgraded


def declared() -> list[sa.MetaData]:
    from bot.ci import history, line_history
    from bot.db import commands, deliveries, rate_limits, redeliveries, repositories, sessions
    from bot.web import ci_grid, page_store, rule_stats

    modules = (
        history,
        line_history,
        commands,
        deliveries,
        rate_limits,
        redeliveries,
        repositories,
        sessions,
        ci_grid,
        page_store,
        rule_stats,
    )
    return [one._TABLES for one in modules]


def columns_of(engine: sa.Engine) -> dict[str, set[str]]:
    inspector = sa.inspect(engine)
    return {
        name: {column["name"] for column in inspector.get_columns(name)}
        for name in inspector.get_table_names()
        if name != VERSION_TABLE
    }


def test_the_service_opens_an_old_database(tmp_path):
    """As `specbot serve` does it at its start."""
    path = tmp_path / "specbot.sqlite"
    engine = engine_for(f"sqlite:///{path}")
    build(
        engine, LANDED["2202a69"]["sqlite"] if "2202a69" in LANDED else LANDED["67d1f93"]["sqlite"]
    )
    engine.dispose()

    class Given:
        database, ci_gather = f"sqlite:///{path}", 1.0

    store = open_store(Given())  # type: ignore[arg-type]
    assert store.received("kept") and version(store.engine) == NEWEST
    store.close()
