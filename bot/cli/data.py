"""`specbot data`: a copy of what the service knows, its return, and its end."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from bot.app.backup import backup, restore
from bot.context.service_context import ServiceContext
from bot.db.deliveries import open_store
from bot.db.repositories import Repositories
from bot.db.retention import purge_older
from bot.errors import UserError
from bot.files import write_output
from bot.i18n.catalog import Catalog
from bot.settings import Settings, load
from bot.workflows.upkeep import purge_repository

_DAY = 24 * 3600.0
_NAME = re.compile(r"[\w.-]{1,100}/[\w.-]{1,100}", re.ASCII)


def run(args: argparse.Namespace) -> int:
    """Do what was asked, and say what was done."""
    words, settings = Catalog(args.lang), load(args.config)
    if args.action == "backup":
        backup(settings, Path(args.output))
        sentence = words("data.backed-up", path=args.output)
    elif args.action == "restore":
        restore(settings, Path(args.archive))
        sentence = words("data.restored", path=args.archive)
    else:
        sentence = _purge(settings, args.repository, words)
    write_output(sentence + "\n", None)
    return 0


def _purge(settings: Settings, repository: str | None, words: Catalog) -> str:
    """One repository, or all that is older than the settings say."""
    if repository is not None and not _NAME.fullmatch(repository):
        raise UserError("data-repository", name=repository)
    store = open_store(settings)
    try:
        if repository is None:
            purged = purge_older(
                store.engine,
                store.client,
                settings.keep_reports_days * _DAY,
                settings.keep_steps_days * _DAY,
            )
            return words("data.purged-old", rows=purged.rows, workflows=purged.workflows)
        known = Repositories(store.engine).named(repository)
        context = ServiceContext.build(settings, store)
        purge_repository(context, known.id if known else 0, repository)
        return words("data.purged", name=repository)
    finally:
        store.close()
