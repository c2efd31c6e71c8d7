"""What the workflows work with, in one place: they are plain functions that DBOS calls by name."""

from __future__ import annotations

from dataclasses import dataclass, field

from bot.github import App
from bot.github.checkout import Checkouts
from bot.service.records import Records
from bot.service.settings import Settings
from bot.service.store import Store
from bot.service.waiting import Waiting
from bot.service.writes import Writes
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
    waiting: Waiting = field(default_factory=Waiting)

    @classmethod
    def build(cls, settings: Settings, store: Store) -> Machine:
        writes = Writes(store.engine, settings.endpoint)
        app = App(settings.endpoint, settings.app_id, settings.private_key.get_secret_value(), writes.pace)
        checkouts = Checkouts(settings.data_dir / "clones", settings.github_server_url)
        return cls(settings, app, store, checkouts, Words(settings.language, Markdown()), Records(store.engine))


_machines: list[Machine] = []


def install(machine: Machine) -> None:
    """Make `machine` the one that this process's workflows use."""
    _machines[:] = [machine]


def machine() -> Machine:
    return _machines[0]
