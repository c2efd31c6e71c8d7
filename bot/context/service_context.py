"""What the workflows work with, in one place: they are plain functions that DBOS calls by name."""

from __future__ import annotations

from dataclasses import dataclass, field

from bot.context.backoff import Backoff
from bot.db.commands import Records
from bot.db.deliveries import Store
from bot.db.rate_limits import WriteLedger
from bot.github.app import App
from bot.github.checkout import Checkouts
from bot.i18n.catalog import Catalog
from bot.i18n.escape import Markdown
from bot.settings import Settings


@dataclass(frozen=True)
class ServiceContext:
    """The settings, and what is made from them once for the whole process."""

    settings: Settings
    app: App
    store: Store
    checkouts: Checkouts
    words: Catalog
    records: Records
    backoff: Backoff = field(default_factory=Backoff)

    @classmethod
    def build(cls, settings: Settings, store: Store) -> ServiceContext:
        """The context of a service with these settings, whose database is `store`."""
        ledger = WriteLedger(store.engine, settings.endpoint)
        private_key = settings.private_key.get_secret_value()
        return cls(
            settings,
            App(
                settings.endpoint,
                settings.app_id,
                private_key,
                ledger.pace,
                read_only=settings.posting == "shadow",
            ),
            store,
            Checkouts(
                settings.data_dir / "clones",
                settings.github_server_url,
                settings.largest_fetch_mib,
            ),
            Catalog(settings.language, Markdown()),
            Records(store.engine),
        )


_contexts: list[ServiceContext] = []


def set_current_context(context: ServiceContext) -> None:
    """Make `context` the one that this process's workflows use."""
    _contexts[:] = [context]


def current_context() -> ServiceContext:
    """The context that was set last."""
    return _contexts[0]
