"""The forms of the last lines of failed logs, to tell what is unusual in a later one."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
_TABLE = "specbot_ci_log_lines"


def upgrade() -> None:
    # A process of this release may have made it where it was missing.
    if not sa.inspect(op.get_bind()).has_table(_TABLE):
        op.create_table(
            _TABLE,
            sa.Column("repository", sa.String(200), primary_key=True),
            sa.Column("workflow", sa.String(255), primary_key=True),
            sa.Column("job", sa.String(255), primary_key=True),
            sa.Column("execution", sa.String(64), primary_key=True),
            sa.Column("number", sa.Integer, nullable=False),
            sa.Column("at", sa.Float, nullable=False),
            sa.Column("forms", sa.LargeBinary, nullable=False),
        )


def downgrade() -> None:
    op.drop_table(_TABLE)
