"""Which worker does a workflow, and as which of its executions.

DBOS gives each execution a token, and writes down what an execution did only while the token stands
in the workflow's row. So the token also says whether a workflow may be put back into its queue, and
whether an execution may write to GitHub: one that was taken for dead goes on for a while, and so
does one whose workflow was begun anew by the same worker.
"""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa
from dbos import DBOS
from dbos._context import get_local_dbos_context
from dbos._dbos import _get_dbos_instance

from bot.db.engine import clock, workflow_table


@dataclass(frozen=True)
class Claim:
    """A workflow that a worker has taken, and the token of its execution."""

    workflow: str
    token: str


def current_claim() -> Claim:
    """That of the execution that asks."""
    context = get_local_dbos_context()
    assert context is not None
    return Claim(context.workflow_id, str(context.owner_xid))


def holds(engine: sa.Engine, claim: Claim) -> bool:
    """Whether the execution still is the one that does the workflow, which nobody has cancelled or
    deleted."""
    query = sa.text(
        f"SELECT executor_id, owner_xid FROM {workflow_table(engine)}"
        " WHERE workflow_uuid = :id AND status = 'PENDING'"
    )
    with engine.connect() as connection:
        row = connection.execute(query, {"id": claim.workflow}).first()
    return row is not None and tuple(row) == (DBOS.executor_id, claim.token)


def claims_of(engine: sa.Engine, worker: str) -> set[Claim]:
    """The workflows that are the worker's, by what is written."""
    query = sa.text(
        f"SELECT workflow_uuid, owner_xid FROM {workflow_table(engine)}"
        " WHERE executor_id = :worker AND status = 'PENDING'"
    )
    with engine.connect() as connection:
        return {Claim(row[0], str(row[1])) for row in connection.execute(query, {"worker": worker})}


def executing() -> set[str]:
    """The workflows that this process is executing."""
    # DBOS has no public question for it.
    return set(_get_dbos_instance()._active_workflows_set.activeList())


def put_back(engine: sa.Engine, claim: Claim, *, counted: bool) -> bool:
    """Put a workflow into its queue again, before what was ordered later; False where the claim
    holds no more. DBOS gives up what was begun a hundred times, where that is `counted`."""
    attempts = "" if counted else ", recovery_attempts = 0"
    update = sa.text(
        f"UPDATE {workflow_table(engine)} SET status = 'ENQUEUED', owner_xid = NULL,"
        f" started_at_epoch_ms = NULL, updated_at = :now{attempts}"
        " WHERE workflow_uuid = :id AND status = 'PENDING' AND owner_xid = :token"
    )
    with engine.begin() as connection:
        now = int(clock(connection) * 1000)
        values = {"id": claim.workflow, "token": claim.token, "now": now}
        return connection.execute(update, values).rowcount > 0
