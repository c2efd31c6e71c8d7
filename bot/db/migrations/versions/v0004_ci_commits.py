"""The jobs of each commit that CI was reported on, for the grid of a pull request's page."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
_TABLE = "specbot_ci_commits"


def upgrade() -> None:
    # A process of this release may have made it where it was missing.
    if not sa.inspect(op.get_bind()).has_table(_TABLE):
        op.create_table(
            _TABLE,
            sa.Column("repository", sa.String(200), primary_key=True),
            sa.Column("number", sa.Integer, primary_key=True),
            sa.Column("head", sa.String(64), primary_key=True),
            sa.Column("at", sa.Float, nullable=False),
            sa.Column("jobs", sa.JSON, nullable=False),
        )


def downgrade() -> None:
    op.drop_table(_TABLE)
