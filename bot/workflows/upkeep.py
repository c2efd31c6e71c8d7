"""The durable end of what we know of a repository: who may see it has changed."""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import Any

import structlog
from dbos import DBOS

from bot.context.retries import step
from bot.context.service_context import ServiceContext, current_context
from bot.db.purge import delete_rows, delete_workflows, rename_rows, unfinished_workflows
from bot.db.repositories import KnownRepository, Repositories
from bot.jobs.upkeep import AccessJob
from bot.web.page_store import PageStore

Json = dict[str, Any]
_log = structlog.get_logger("specbot.upkeep")
# Seconds. Work that was cancelled in the middle of a step still writes what that step found.
_PURGED_AGAIN_AFTER = (5.0, 60.0, 3600.0)
# In the ids of those purges, which order none themselves.
_AGAIN = "-again-"


@DBOS.workflow(name="access")
def change_access(stored: Json) -> int:
    """Do what a stored `AccessJob` asks for; gives how many repositories it was about. Twice is as
    once."""
    job = AccessJob(**stored)
    found = repositories_of(stored)
    with structlog.contextvars.bound_contextvars(workflow=job.id):
        for repository, name in found:
            _DEEDS[job.what](repository, name, stored)
            _log.warning("access has changed", repository=name, what=job.what)
    return len(found)


@step
def repositories_of(stored: Json) -> list[tuple[int, str]]:
    """The repositories that the job names, and those that we know of its account and
    installation."""
    job, engine = AccessJob(**stored), current_context().store.engine
    known = Repositories(engine)
    found = {str(name): int(repository) for repository, name in job.repositories}
    if job.installation:
        for one in known.of_installation(job.installation):
            found.setdefault(one.name, one.id)
    if job.account:
        for name in PageStore(engine).repositories_of(job.account):
            found.setdefault(name, 0)
    return [(repository, name) for name, repository in sorted(found.items())]


@step
def close(repository: int, name: str, _: Json) -> None:
    """Show its pages to those alone whom GitHub lets read it."""
    PageStore(current_context().store.engine).set_private(name)


@step
def purge(repository: int, name: str, stored: Json) -> None:
    """Delete everything: pages first, then what only we see.

    Where work on it has not ended, more purges are ordered before that is cancelled: its last step
    still writes what it found.
    """
    context, order = current_context(), str(stored["id"])
    if _AGAIN not in order and unfinished_workflows(context.store.client, repository, name):
        for seconds in _PURGED_AGAIN_AFTER:
            new_id = f"{order}{_AGAIN}{repository}-{seconds:.0f}"
            request = AccessJob(new_id, "purge", [(repository, name)]).request()
            context.store.enqueue(replace(request, delay=seconds))
    purge_repository(context, repository, name)


def purge_repository(context: ServiceContext, repository: int, name: str) -> None:
    """Delete what is kept of one repository: rows, workflows, its clone and its baselines.

    Its workflows that have not ended are cancelled.
    """
    engine = context.store.engine
    known = Repositories(engine)
    if not repository:
        found = known.named(name)
        repository = found.id if found else 0
    client = context.store.client
    client.cancel_workflows(unfinished_workflows(client, repository, name))
    rows = delete_rows(engine, repository, name)
    workflows = delete_workflows(client, repository, name)
    context.checkouts.remove(name)
    if repository:
        shutil.rmtree(context.settings.baselines(repository), ignore_errors=True)
        known.forget(repository)
    _log.warning("purged", repository=name, rows=rows, workflows=workflows)


@step
def rename(repository: int, name: str, stored: Json) -> None:
    """Keep what there is under the new name."""
    context, new_name = current_context(), str(stored["new_name"])
    rename_rows(context.store.engine, name, new_name)
    context.checkouts.remove(name)
    found = Repositories(context.store.engine).by_id(repository)
    if found is not None:
        renamed = KnownRepository(repository, new_name, found.installation)
        Repositories(context.store.engine).note(renamed)


_DEEDS = {"close": close, "purge": purge, "rename": rename}
