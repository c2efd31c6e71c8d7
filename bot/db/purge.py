"""Deleting what is kept of a repository, in all of our tables and among the workflows."""

from __future__ import annotations

import json
from typing import Any

import sqlalchemy as sa
from dbos import DBOSClient

# Our tables by what their rows name a repository with.
_BY_NAME = {
    "specbot_page_pulls": "repository",
    "specbot_page_reports": "repository",
    "specbot_ci_commits": "repository",
    "specbot_ci_log_lines": "repository",
    "specbot_page_findings": "repository",
    "specbot_ci_verdicts": "repo",
    "specbot_ci_last": "repo",
}
_BY_ID = (
    "specbot_pulls",
    "specbot_approvals",
    "specbot_skips",
    "specbot_last_reviews",
    "specbot_ci_explanations",
    "specbot_gpu_runs",
    "specbot_spoken",
)
_PAGE = 500
_ENDED = ["SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"]
_NOT_ENDED = ["PENDING", "ENQUEUED", "DELAYED"]


def delete_rows(engine: sa.Engine, repository: int, name: str) -> int:
    """Delete what our tables have of the repository; gives how many rows that were.

    With `repository` 0 those that are known by its name alone, with no `name` those by its id.
    """
    deleted = 0
    with engine.begin() as connection:
        present = set(sa.inspect(connection).get_table_names())
        for table, column in _BY_NAME.items():
            if table in present:
                deleted += _delete(connection, table, column, name)
        for table in _BY_ID:
            if table in present and repository:
                deleted += _delete(connection, table, "repository_id", repository)
    return deleted


def _delete(connection: sa.Connection, table: str, column: str, value: int | str) -> int:
    found = sa.table(table, sa.column(column))
    return connection.execute(found.delete().where(found.c[column] == value)).rowcount


def rename_rows(engine: sa.Engine, old: str, new: str) -> None:
    """Give what is kept under the name `old` the name `new`; what was under that goes.

    Twice is as once: where nothing is kept under `old`, nothing is done.
    """
    with engine.begin() as connection:
        present = set(sa.inspect(connection).get_table_names())
        columns = {table: column for table, column in _BY_NAME.items() if table in present}
        if not any(_has(connection, table, column, old) for table, column in columns.items()):
            return
        for table, column in columns.items():
            _delete(connection, table, column, new)
            found = sa.table(table, sa.column(column))
            renamed = found.update().where(found.c[column] == old).values({column: new})
            connection.execute(renamed)


def _has(connection: sa.Connection, table: str, column: str, value: str) -> bool:
    found = sa.table(table, sa.column(column))
    query = sa.select(found.c[column]).where(found.c[column] == value).limit(1)
    return connection.execute(query).first() is not None


def unfinished_workflows(client: DBOSClient, repository: int, name: str) -> list[str]:
    """The ids of the repository's workflows that wait or are at work."""
    return _workflows_of(client, _NOT_ENDED, repository, name)


def delete_workflows(client: DBOSClient, repository: int, name: str) -> int:
    """Delete the workflows of the repository that have ended, with all that their steps wrote
    down; gives how many those were."""
    ids = _workflows_of(client, _ENDED, repository, name)
    for start in range(0, len(ids), _PAGE):
        client.delete_workflows(ids[start : start + _PAGE])
    return len(ids)


def _workflows_of(client: DBOSClient, statuses: list[str], repository: int, name: str) -> list[str]:
    found: list[str] = []
    offset = 0
    while True:
        page = client.list_workflows(status=statuses, limit=_PAGE, offset=offset, load_output=False)
        found += [one.workflow_id for one in page if _is_about(one.input, repository, name)]
        if len(page) < _PAGE:
            return found
        offset += _PAGE


def _is_about(stored: Any, repository: int, name: str) -> bool:
    text = json.dumps(stored)
    of_id = bool(repository) and f'"repository_id": {repository},' in text + ","
    return of_id or f'"repository": {json.dumps(name)}' in text
