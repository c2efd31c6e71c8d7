"""When delayed work begins: DBOS tells it by the clock of whichever worker is first, which may be
an hour wrong. It would begin an hour late, or at once, and so miss what it was to gather."""

from __future__ import annotations

import sqlalchemy as sa
from dbos._sys_db import SystemDatabase

from bot.db.engine import clock, workflow_table


def begin_delayed_by_the_common_clock() -> None:
    """For all of this process: the same by the clock that all workers have in common."""
    # DBOS has no setting for it, and calls this once a second.
    SystemDatabase.transition_delayed_workflows = _begin_due  # type: ignore[assignment,method-assign]


def _begin_due(database: SystemDatabase) -> None:
    with database.engine.begin() as connection:
        begin = sa.text(
            f"UPDATE {workflow_table(database.engine)} SET status = 'ENQUEUED'"
            " WHERE status = 'DELAYED' AND delay_until_epoch_ms <= :now"
        )
        connection.execute(begin, {"now": int(clock(connection) * 1000)})
