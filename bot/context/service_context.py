"""What the workflows work with, in one place: they are plain functions that DBOS calls by name."""

from __future__ import annotations

from dataclasses import dataclass, field

from bot.context.backoff import Backoff
from bot.db.commands import Records
from bot.db.deliveries import Store
from bot.db.rate_limits import WriteLedger
from bot.github import App
from bot.github.checkout import Checkouts
from bot.i18n.catalog import Catalog
from bot.i18n.escape import Markdown
from bot.settings import Settings


@dataclass(frozen=True)
class ServiceContext:
    settings: Settings
    app: App
    store: Store
    checkouts: Checkouts
    words: Catalog
    records: Records
    waiting: Backoff = field(default_factory=Backoff)

    @classmethod
    def build(cls, settings: Settings, store: Store) -> ServiceContext:
        writes = WriteLedger(store.engine, settings.endpoint)
        app = App(
            settings.endpoint, settings.app_id, settings.private_key.get_secret_value(), writes.pace
        )
        checkouts = Checkouts(settings.data_dir / "clones", settings.github_server_url)
        return cls(
            settings,
            app,
            store,
            checkouts,
            Catalog(settings.language, Markdown()),
            Records(store.engine),
        )


_machines: list[ServiceContext] = []


def set_current_context(machine: ServiceContext) -> None:
    """Make `machine` the one that this process's workflows use."""
    _machines[:] = [machine]


def current_context() -> ServiceContext:
    return _machines[0]
