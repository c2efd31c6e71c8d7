"""Whose writes they are; which repositories something is kept of; deliveries that failed."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.add_column("specbot_writes", sa.Column("account", sa.BigInteger))
    op.add_column("specbot_writes", sa.Column("repository", sa.String(200)))
    op.create_table(
        "specbot_repositories",
        sa.Column("id", sa.BigInteger, primary_key=True),
        sa.Column("name", sa.String(200), nullable=False, index=True),
        sa.Column("installation", sa.BigInteger, nullable=False, index=True),
        sa.Column("seen_at", sa.Float, nullable=False),
    )
    op.create_table(
        "specbot_failed_deliveries",
        sa.Column("guid", sa.String(64), primary_key=True),
        sa.Column("attempt", sa.BigInteger, nullable=False),
        sa.Column("at", sa.Float, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("asked_after", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "specbot_deliveries_read",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("newest", sa.Float, nullable=False),
        sa.Column("until", sa.Float, nullable=False),
        sa.Column("goes_on_at", sa.Text, nullable=False),
    )


def downgrade() -> None:
    for table in ("specbot_deliveries_read", "specbot_failed_deliveries", "specbot_repositories"):
        op.drop_table(table)
    with op.batch_alter_table("specbot_writes") as writes:
        writes.drop_column("repository")
        writes.drop_column("account")
