"""What was there before tables had a version: any state that a release or a commit made.

Tables were made where they were missing and never changed, so that states differ in what they
have, in three tables that had other names, and in one column.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

# As they were then; what came later is in later modules.
_TABLES = sa.MetaData()


def _pull() -> tuple[sa.Column[int], sa.Column[int]]:
    return (
        sa.Column("repository_id", sa.BigInteger, primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True),
    )


sa.Table(
    "specbot_deliveries",
    _TABLES,
    sa.Column("id", sa.String(64), primary_key=True),
    sa.Column("event", sa.String(64), nullable=False),
    sa.Column("received_at", sa.Float, nullable=False, index=True),
)
sa.Table(
    "specbot_pulls",
    _TABLES,
    *_pull(),
    sa.Column("order_id", sa.String(128), nullable=False),
    sa.Column("reported_head", sa.String(64)),
)
sa.Table(
    "specbot_workers",
    _TABLES,
    sa.Column("id", sa.String(128), primary_key=True),
    sa.Column("seen_at", sa.Float, nullable=False),
)
sa.Table(
    "specbot_since",
    _TABLES,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("at", sa.Float),
)
sa.Table(
    "specbot_acts",
    _TABLES,
    sa.Column("id", sa.String(200), primary_key=True),
    sa.Column("at", sa.Float),
)
sa.Table(
    "specbot_approvals",
    _TABLES,
    *_pull(),
    sa.Column("head", sa.String(64), primary_key=True),
    sa.Column("login", sa.String(64)),
    sa.Column("at", sa.Float),
)
sa.Table(
    "specbot_skips",
    _TABLES,
    *_pull(),
    sa.Column("rule", sa.String(64), primary_key=True),
    sa.Column("login", sa.String(64)),
    sa.Column("reason", sa.Text),
)
sa.Table("specbot_last_reviews", _TABLES, *_pull(), sa.Column("data", sa.JSON, nullable=False))
sa.Table(
    "specbot_gpu_runs",
    _TABLES,
    sa.Column("request", sa.String(36), primary_key=True),
    sa.Column("repository_id", sa.BigInteger, nullable=False, index=True),
    sa.Column("number", sa.Integer, nullable=False),
    sa.Column("head", sa.String(64), nullable=False),
    sa.Column("base", sa.String(64), nullable=False),
    sa.Column("workflow", sa.String(255), nullable=False),
    sa.Column("minutes", sa.Integer, nullable=False),
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("run", sa.BigInteger, index=True),
    sa.Column("order", sa.JSON, nullable=False),
    sa.Column("command", sa.Integer, nullable=False),
    sa.Column("files", sa.JSON, nullable=False),
)
sa.Table(
    "specbot_spoken",
    _TABLES,
    sa.Column("id", sa.String(128), primary_key=True),
    sa.Column("repository_id", sa.BigInteger, nullable=False),
    sa.Column("user", sa.BigInteger, nullable=False, index=True),
    sa.Column("at", sa.Float, nullable=False, index=True),
    sa.Column("commands", sa.Integer, nullable=False),
)
sa.Table(
    "specbot_writes",
    _TABLES,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("installation", sa.BigInteger, nullable=False),
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("workflow", sa.String(128)),
    sa.Index("specbot_writes_of", "installation", "at"),
)
sa.Table(
    "specbot_page_pulls",
    _TABLES,
    sa.Column("repository", sa.String(200), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("author", sa.String(100), nullable=False),
    sa.Column("private", sa.Boolean, nullable=False),
    sa.Column("state", sa.String(10), nullable=False),
    sa.Column("head", sa.String(64), nullable=False),
    sa.Column("verdict", sa.String(10), nullable=False),
    sa.Column("bugs", sa.Integer, nullable=False),
    sa.Column("suggestions", sa.Integer, nullable=False),
    sa.Column("questions", sa.Integer, nullable=False),
    sa.Column("opened_at", sa.Float, nullable=False),
    sa.Column("updated_at", sa.Float, nullable=False, index=True),
)
sa.Table(
    "specbot_page_reports",
    _TABLES,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("repository", sa.String(200), nullable=False),
    sa.Column("number", sa.Integer, nullable=False),
    sa.Column("kind", sa.String(20), nullable=False),
    sa.Column("head", sa.String(64), nullable=False),
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("verdict", sa.String(20), nullable=False),
    sa.Column("bugs", sa.Integer, nullable=False),
    sa.Column("suggestions", sa.Integer, nullable=False),
    sa.Column("questions", sa.Integer, nullable=False),
    sa.Column("took", sa.Float),
    sa.Column("zh", sa.Text, nullable=False),
    sa.Column("en", sa.Text, nullable=False),
    sa.UniqueConstraint("repository", "number", "kind", "head"),
)
sa.Table(
    "specbot_page_findings",
    _TABLES,
    sa.Column("repository", sa.String(200), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("fingerprint", sa.String(64), primary_key=True),
    sa.Column("rule", sa.String(80), nullable=False),
    sa.Column("severity", sa.String(20), nullable=False),
    sa.Column("outcome", sa.String(10), nullable=False),
)
sa.Table(
    "specbot_ci_verdicts",
    _TABLES,
    sa.Column("repo", sa.String(200), primary_key=True),
    sa.Column("head", sa.String(64), primary_key=True),
    sa.Column("workflow", sa.String(255), primary_key=True),
    sa.Column("job", sa.String(255), primary_key=True),
    sa.Column("failure", sa.String(64), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("test", sa.Text, nullable=False),
    sa.Column("error", sa.Text, nullable=False),
    sa.Column("category", sa.String(40), nullable=False),
    sa.Column("cause", sa.String(40), nullable=False),
    sa.Column("confidence", sa.String(40), nullable=False),
    sa.Column("collected", sa.String(40), nullable=False),
    sa.Column("attempt", sa.Integer, nullable=False),
    sa.Column("evidence", sa.JSON, nullable=False),
    sa.Column("outcome", sa.String(40)),
)
sa.Table(
    "specbot_ci_last",
    _TABLES,
    sa.Column("repo", sa.String(200), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("head", sa.String(64), nullable=False),
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("run", sa.Text, nullable=False),
)
# Old name -> new name, and what the new one has that the old one had not, or had otherwise. Two
# tables went by the first name, in different states.
_RENAMED: tuple[tuple[str, str, str, dict[str, str]], ...] = (
    ("specbot_reports", "data", "specbot_last_reviews", {}),
    (
        "specbot_reports",
        "kind",
        "specbot_page_reports",
        {"took": "seconds", "bugs": "findings", "suggestions": "0", "questions": "0"},
    ),
    ("specbot_board", "title", "specbot_page_pulls", {}),
    ("specbot_ci_runs", "run", "specbot_ci_last", {"head": "''", "at": "0"}),
)


def upgrade() -> None:
    connection = op.get_bind()
    present = set(sa.inspect(connection).get_table_names())
    _TABLES.create_all(connection)
    if "specbot_gpu_runs" in present:
        _add_files(connection)
    for old, sign, new, values in _RENAMED:
        if old in present and sign in _columns(connection, old):
            _move(connection, old, new, values)
            op.drop_table(old)
            present.discard(old)


def _columns(connection: sa.Connection, table: str) -> list[str]:
    return [column["name"] for column in sa.inspect(connection).get_columns(table)]


def _add_files(connection: sa.Connection) -> None:
    if "files" not in _columns(connection, "specbot_gpu_runs"):
        files = sa.Column("files", sa.JSON, nullable=False, server_default="{}")
        op.add_column("specbot_gpu_runs", files)


def _move(connection: sa.Connection, old: str, new: str, values: dict[str, str]) -> None:
    """The rows of `old` to `new`; `values` are SQL for columns that `old` does not have so."""
    had = set(_columns(connection, old))
    names = [column.name for column in _TABLES.tables[new].columns]
    taken = [name for name in names if name in had or name in values]
    chosen = ", ".join(values.get(name, f'"{name}"') for name in taken)
    into = ", ".join(f'"{name}"' for name in taken)
    connection.execute(sa.text(f"INSERT INTO {new} ({into}) SELECT {chosen} FROM {old}"))


def downgrade() -> None:
    """There was no version before."""
