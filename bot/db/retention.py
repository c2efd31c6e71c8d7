"""How long things are kept: reports and what steps wrote down grow with every review."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime

import sqlalchemy as sa
from dbos import DBOSClient

_PAGE = 500
_ENDED = ["SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"]
# Our tables whose rows have a time in seconds; those that are still asked for are not among them.
_BY_TIME = {
    "specbot_page_reports": "at",
    "specbot_ci_commits": "at",
    "specbot_ci_log_lines": "at",
    "specbot_acts": "at",
    "specbot_approvals": "at",
    "specbot_spoken": "at",
}


@dataclass(frozen=True)
class Purged:
    """How much went."""

    rows: int
    workflows: int


def purge_older(engine: sa.Engine, client: DBOSClient, reports: float, steps: float) -> Purged:
    """Delete reports that are older than `reports` seconds, and ended workflows with all that
    their steps wrote down, where those are older than `steps` seconds.

    What has not ended is never deleted; nor is a pull request's line on the board.
    """
    rows = 0
    with engine.begin() as connection:
        present = set(sa.inspect(connection).get_table_names())
        for table, column in _BY_TIME.items():
            if table in present:
                found = sa.table(table, sa.column(column))
                old = found.delete().where(found.c[column] < time.time() - reports)
                rows += connection.execute(old).rowcount
    return Purged(rows, _purge_workflows(client, steps))


def _purge_workflows(client: DBOSClient, steps: float) -> int:
    until = datetime.fromtimestamp(time.time() - steps, UTC).isoformat()
    deleted = 0
    while True:
        page = client.list_workflows(
            status=_ENDED, end_time=until, limit=_PAGE, load_input=False, load_output=False
        )
        if not page:
            return deleted
        client.delete_workflows([workflow.workflow_id for workflow in page])
        deleted += len(page)
