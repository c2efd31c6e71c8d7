"""Alembic's own entry: it runs the changes on the connection that `bot.db.migrate` hands over."""

from __future__ import annotations

from alembic import context

connection = context.config.attributes["connection"]
version_table = context.config.attributes["version_table"]
context.configure(connection=connection, version_table=version_table)
with context.begin_transaction():
    context.run_migrations()
