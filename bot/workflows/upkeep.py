"""The durable end of what we know of a repository: who may see it has changed."""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import Any

import structlog
from dbos import DBOS

from bot.context.retries import step
from bot.context.service_context import ServiceContext, current_context
from bot.db.purge import cancel_workflows, delete_rows, delete_workflows, rename_rows
from bot.db.repositories import KnownRepository, Repositories
from bot.jobs.upkeep import AccessJob
from bot.web.page_store import PageStore

Json = dict[str, Any]
_log = structlog.get_logger("specbot.upkeep")
# Seconds. Work that was cancelled in the middle of a step still writes what that step found.
_PURGED_AGAIN_AFTER = (5.0, 60.0, 3600.0)


@DBOS.workflow(name="access")
def change_access(stored: Json) -> int:
    """Do what a stored `AccessJob` asks for; gives how many repositories it was about. Twice is as
    once."""
    job = AccessJob(**stored)
    found = repositories_of(stored)
    with structlog.contextvars.bound_contextvars(workflow=job.id):
        for repository, name in found:
            at_work = _DEEDS[job.what](repository, name, job.new_name)
            _log.warning("access has changed", repository=name, what=job.what)
            if at_work:
                purge_later(job.id, repository, name)
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
def close(repository: int, name: str, _: str) -> int:
    """Show its pages to those alone whom GitHub lets read it."""
    PageStore(current_context().store.engine).set_private(name)
    return 0


@step
def purge(repository: int, name: str, _: str) -> int:
    """Delete everything: pages first, then what only we see. Gives how many workflows were at
    work."""
    return purge_repository(current_context(), repository, name)


@step
def purge_later(order: str, repository: int, name: str) -> None:
    """Order it to be purged again, when the last step of what was cancelled has come to its end."""
    for seconds in _PURGED_AGAIN_AFTER:
        job = AccessJob(f"{order}-{repository}-{seconds:.0f}", "purge", [(repository, name)])
        current_context().store.enqueue(replace(job.request(), delay=seconds))


def purge_repository(context: ServiceContext, repository: int, name: str) -> int:
    """Delete what is kept of one repository: rows, workflows, its clone and its baselines.

    Gives how many of its workflows had not ended; those are cancelled.
    """
    engine = context.store.engine
    known = Repositories(engine)
    if not repository:
        found = known.named(name)
        repository = found.id if found else 0
    cancelled = cancel_workflows(context.store.client, repository, name)
    rows = delete_rows(engine, repository, name)
    workflows = delete_workflows(context.store.client, repository, name)
    context.checkouts.remove(name)
    if repository:
        shutil.rmtree(context.settings.baselines(repository), ignore_errors=True)
        known.forget(repository)
    _log.warning("purged", repository=name, rows=rows, workflows=workflows)
    return cancelled


@step
def rename(repository: int, name: str, new_name: str) -> int:
    """Keep what there is under the new name."""
    context = current_context()
    rename_rows(context.store.engine, name, new_name)
    context.checkouts.remove(name)
    found = Repositories(context.store.engine).by_id(repository)
    if found is not None:
        renamed = KnownRepository(repository, new_name, found.installation)
        Repositories(context.store.engine).note(renamed)
    return 0


_DEEDS = {"close": close, "purge": purge, "rename": rename}
