"""The repositories that something is kept of: who they are, where they are, and how to ask GitHub
about them."""

from __future__ import annotations

import time
from dataclasses import dataclass

import sqlalchemy as sa

from bot.db.engine import create, put

_TABLES = sa.MetaData()
_REPOSITORIES = sa.Table(
    "specbot_repositories",
    _TABLES,
    sa.Column("id", sa.BigInteger, primary_key=True),
    sa.Column("name", sa.String(200), nullable=False, index=True),
    sa.Column("installation", sa.BigInteger, nullable=False, index=True),
    sa.Column("seen_at", sa.Float, nullable=False),
)


@dataclass(frozen=True)
class KnownRepository:
    """A repository by GitHub's id, its name (`octo/engine`) and the installation that has it."""

    id: int
    name: str
    installation: int


class Repositories:
    """The table. Safe to use from several threads."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        create(engine, _TABLES)

    def note(self, repository: KnownRepository) -> None:
        """Something is kept of it."""
        values = {
            "name": repository.name,
            "installation": repository.installation,
            "seen_at": time.time(),
        }
        with self._engine.begin() as connection:
            put(connection, _REPOSITORIES, {"id": repository.id}, values)

    def named(self, name: str) -> KnownRepository | None:
        """The one that has this name now."""
        query = _select().where(_REPOSITORIES.c.name == name)
        query = query.order_by(_REPOSITORIES.c.seen_at.desc())
        with self._engine.connect() as connection:
            row = connection.execute(query).first()
        return _known(row) if row else None

    def of_installation(self, installation: int) -> list[KnownRepository]:
        """All that an installation has."""
        query = _select().where(_REPOSITORIES.c.installation == installation)
        with self._engine.connect() as connection:
            return [
                KnownRepository(row.id, row.name, row.installation)
                for row in connection.execute(query)
            ]

    def by_id(self, repository: int) -> KnownRepository | None:
        query = _select().where(_REPOSITORIES.c.id == repository)
        with self._engine.connect() as connection:
            row = connection.execute(query).first()
        return _known(row) if row else None

    def forget(self, repository: int) -> None:
        """Nothing is kept of it any more."""
        with self._engine.begin() as connection:
            connection.execute(_REPOSITORIES.delete().where(_REPOSITORIES.c.id == repository))


def _select() -> sa.Select[tuple[int, str, int]]:
    columns = _REPOSITORIES.c
    return sa.select(columns.id, columns.name, columns.installation)


def _known(row: sa.Row[tuple[int, str, int]]) -> KnownRepository:
    return KnownRepository(row.id, row.name, row.installation)
