"""What the last CI report of a pull request explained, job by job."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
_TABLE = "specbot_ci_explanations"


def upgrade() -> None:
    # It was made where it was missing before it was a change of its own.
    if not sa.inspect(op.get_bind()).has_table(_TABLE):
        op.create_table(
            _TABLE,
            sa.Column("repository_id", sa.BigInteger, primary_key=True),
            sa.Column("number", sa.Integer, primary_key=True),
            sa.Column("head", sa.String(64), nullable=False),
            sa.Column("jobs", sa.JSON, nullable=False),
        )


def downgrade() -> None:
    op.drop_table(_TABLE)
