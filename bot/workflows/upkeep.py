"""The durable end of what we know of a repository: who may see it has changed.

A webhook may come days late, after what it tells was undone: GitHub is asked what is so now. Pages
close first, and stay closed where GitHub does not answer.
"""

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
from bot.github import GitHubError
from bot.github.presence import Presence, find_present
from bot.jobs.upkeep import AccessJob
from bot.web.page_store import PageStore

Json = dict[str, Any]
_log = structlog.get_logger("specbot.upkeep")
# Seconds. Work that was cancelled in the middle of a step still writes what that step found, and
# GitHub's API may be behind its events.
_LOOKED_AT_AGAIN_AFTER = (5.0, 60.0, 3600.0)
# In the ids of those looks, which order none themselves.
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
def close(repository: int, name: str, stored: Json) -> None:
    """Show its pages to those alone whom GitHub lets read it, until it says at a later look that
    everybody may."""
    if _is_first(stored):
        _pages().set_private(name)
        _order_looks(stored, repository, name)
    else:
        _show_as(_ask_closed(name), name)


@step
def purge(repository: int, name: str, stored: Json) -> None:
    """Delete everything: pages first, then what only we see. What GitHub says is ours stays: the
    webhook is late, or GitHub's answer is behind it.

    Where work on it has not ended, or where it stays, later looks are ordered: that work is
    cancelled, and its last step still writes what it found.
    """
    context = current_context()
    first = _is_first(stored)
    if first:
        _pages().set_private(name)
    found = _ask_closed(name)
    went = _what_went(repository, name, found)
    if first and (went is None or unfinished_workflows(context.store.client, *went)):
        _order_looks(stored, repository, name)
    if went is not None:
        purge_repository(context, *went)
    elif not first:
        _show_as(found, name)


def purge_repository(context: ServiceContext, repository: int, name: str) -> None:
    """Delete what is kept of one repository: rows, workflows, its clone and its baselines. With
    `repository` 0 that is what is known by its name alone, with no `name` what is known by its id.

    Its workflows that have not ended are cancelled.
    """
    engine, client = context.store.engine, context.store.client
    client.cancel_workflows(unfinished_workflows(client, repository, name))
    rows = delete_rows(engine, repository, name)
    workflows = delete_workflows(client, repository, name)
    if name:
        context.checkouts.remove(name)
    if repository:
        shutil.rmtree(context.settings.baselines(repository), ignore_errors=True)
        Repositories(engine).forget(repository)
    _log.warning("purged", repository=name or repository, rows=rows, workflows=workflows)


@step
def rename(repository: int, name: str, stored: Json) -> None:
    """Keep what there is under the name that it has now."""
    context, found = current_context(), _ask_closed(name, str(stored["new_name"]))
    if found is None or found.id != repository:
        # Gone since, or GitHub's answer is behind its event.
        _pages().set_private(name)
        if _is_first(stored):
            _order_looks(stored, repository, name)
        return
    if found.name != name:
        rename_rows(context.store.engine, name, found.name)
        context.checkouts.remove(name)
    known = Repositories(context.store.engine)
    noted = known.by_id(repository)
    if noted is not None:
        known.note(KnownRepository(repository, found.name, noted.installation))
    _show_as(found, found.name)


def _is_first(stored: Json) -> bool:
    """Whether the job came with a webhook, and is no later look at the same."""
    return _AGAIN not in str(stored["id"])


def _order_looks(stored: Json, repository: int, name: str) -> None:
    """Have the same done again some seconds, a minute and an hour later."""
    job = AccessJob(**stored)
    for seconds in _LOOKED_AT_AGAIN_AFTER:
        look = AccessJob(
            id=f"{job.id}{_AGAIN}{repository or name}-{seconds:.0f}",
            what=job.what,
            repositories=[(repository, name)],
            new_name=job.new_name,
        )
        current_context().store.enqueue(replace(look.request(), delay=seconds))


def _ask_closed(name: str, new_name: str = "") -> Presence | None:
    """What GitHub says of the repository that is called `new_name`, or `name`, now. Where it does
    not answer, nobody is shown the pages until it does."""
    try:
        return find_present(current_context().app, new_name or name)
    except GitHubError:
        _pages().set_private(name)
        raise


def _what_went(repository: int, name: str, found: Presence | None) -> tuple[int, str] | None:
    """Which id and name what is to be deleted is known by; None where nothing is."""
    known = Repositories(current_context().store.engine)
    of_name = known.named(name)
    if not repository and of_name is not None:
        repository = of_name.id
    if found is None:
        return repository, name
    if found.name == name and repository in (0, found.id):
        return None
    if found.name == name:
        # Another repository has the name now.
        is_noted = of_name is not None and of_name.id == found.id
        return repository, "" if is_noted else name
    # Moved to an account that has us too: what is known by the id may be of after that.
    of_id = known.by_id(repository)
    is_elsewhere = found.id == repository and of_id is not None and of_id.name != name
    return 0 if is_elsewhere else repository, name


def _show_as(found: Presence | None, name: str) -> None:
    """Show the pages of `name` to those to whom GitHub shows the repository."""
    is_public = found is not None and found.name == name and not found.private
    _pages().set_private(name, private=not is_public)


def _pages() -> PageStore:
    return PageStore(current_context().store.engine)


_DEEDS = {"close": close, "purge": purge, "rename": rename}
