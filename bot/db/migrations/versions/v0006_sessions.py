"""Who is signed in to the pages, for every process of the web side."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
_TABLE = "specbot_sessions"


def upgrade() -> None:
    # A process of this release may have made it where it was missing.
    if not sa.inspect(op.get_bind()).has_table(_TABLE):
        op.create_table(
            _TABLE,
            sa.Column("id", sa.String(64), primary_key=True),
            sa.Column("sealed", sa.Text, nullable=False),
            sa.Column("until", sa.Float, nullable=False, index=True),
        )


def downgrade() -> None:
    op.drop_table(_TABLE)
