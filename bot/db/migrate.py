"""The version of our tables: a database of an older one is changed, one of a newer is refused.

Alembic was chosen because SQLAlchemy's tables are its own: it runs on both databases, in the
transaction of our connection, and knows the order of changes.
"""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory

from bot.db.engine import lock
from bot.errors import UserError

# The last of `bot.db.migrations.versions`.
NEWEST = "0006"
VERSION_TABLE = "specbot_schema"
_LOCK = 7319
_SCRIPTS = Path(__file__).parent / "migrations"


def migrate(engine: sa.Engine) -> None:
    """Bring the tables of `engine` to `NEWEST`, in one transaction: all of it, or nothing.

    Several processes may start at once: the first that holds the lock does it. Raises `UserError`
    where the tables are of a version that came after this program.
    """
    if version(engine) == NEWEST:
        return
    with engine.begin() as connection:
        lock(connection, _LOCK)
        config = Config()
        config.set_main_option("script_location", str(_SCRIPTS).replace("%", "%%"))
        config.attributes["connection"] = connection
        config.attributes["version_table"] = VERSION_TABLE
        found = _version_on(connection)
        known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
        if found and found not in known:
            raise UserError("database-newer", found=found, known=NEWEST)
        command.upgrade(config, NEWEST)


def version(engine: sa.Engine) -> str:
    """The version of the tables; empty where there are none, or older ones without one."""
    with engine.connect() as connection:
        return _version_on(connection)


def _version_on(connection: sa.Connection) -> str:
    if not sa.inspect(connection).has_table(VERSION_TABLE):
        return ""
    told = sa.text(f"SELECT version_num FROM {VERSION_TABLE}")
    return str(connection.execute(told).scalar() or "")
