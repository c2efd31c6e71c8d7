"""What the workflows work with, in one place: they are plain functions that DBOS calls by name."""

from __future__ import annotations

from dataclasses import dataclass

from bot.github import App
from bot.github.checkout import Checkouts
from bot.service.records import Records
from bot.service.settings import Settings
from bot.service.store import Store
from bot.style import Markdown
from bot.words import Words


@dataclass(frozen=True)
class Machine:
    settings: Settings
    app: App
    store: Store
    checkouts: Checkouts
    words: Words
    records: Records

    @classmethod
    def build(cls, settings: Settings, store: Store) -> Machine:
        app = App(settings.endpoint, settings.app_id, settings.private_key.get_secret_value())
        checkouts = Checkouts(settings.data_dir / "clones", settings.github_server_url)
        return cls(settings, app, store, checkouts, Words(settings.language, Markdown()), Records(store.engine))


_machines: list[Machine] = []


def install(machine: Machine) -> None:
    """Make `machine` the one that this process's workflows use."""
    _machines[:] = [machine]


def machine() -> Machine:
    return _machines[0]
