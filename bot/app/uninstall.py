"""Taking the App away again: what goes at one command, and what somebody else has to remove."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy.engine import make_url

from bot.github.app import App
from bot.settings import Settings


@dataclass(frozen=True, slots=True)
class Installation:
    """The App on one account."""

    id: int
    account: str


@dataclass(frozen=True, slots=True)
class Remains:
    """What is left when the App is on no account any more.

    `settings_page` is where its owner deletes the App itself; `database` has no password in it;
    `files` are folders and files of this machine that exist.
    """

    settings_page: str
    database: str
    files: tuple[Path, ...]


def installations(app: App) -> list[Installation]:
    """The accounts that the App is installed on."""
    listed = app.itself.pages("/app/installations")
    return [Installation(int(one["id"]), str(one["account"]["login"])) for one in listed]


def uninstall(app: App, installed: Installation) -> None:
    """Take the App off one account: its tokens end, and no webhook comes any more."""
    app.itself.delete(f"/app/installations/{installed.id}")


def remains(app: App, settings: Settings) -> Remains:
    """What the one command cannot, or must not, remove."""
    page = str(app.itself.get("/app")["html_url"])
    database = make_url(settings.database).render_as_string(hide_password=True)
    return Remains(page, database, tuple(_files(settings)))


def _files(settings: Settings) -> Iterator[Path]:
    for path in (settings.data_dir, settings.config_file, settings.private_key_file):
        if path is not None and Path(path).exists():
            yield Path(path).absolute()
