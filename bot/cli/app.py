"""`specbot app`: make the GitHub App, and find out what it lacks."""

from __future__ import annotations

import argparse
import itertools
import re
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

from bot import urls
from bot.app.create import AppPlan, ManifestFlow, credentials, open_listener, wait_for_app
from bot.app.credentials import reserve_file
from bot.app.doctor import run_checks
from bot.app.live import run_live_checks
from bot.app.uninstall import installations, remains, uninstall
from bot.db.engine import engine_for
from bot.errors import UserError
from bot.files import write_output
from bot.i18n.catalog import Catalog
from bot.settings import load
from bot.web import digest
from bot.web.page_store import PageStore

_LOGIN = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,38})")
_DAY = 24 * 3600.0
_MARKS = {True: "✓", False: "✗", None: "–"}


def run(args: argparse.Namespace) -> int:
    """Do what was asked. `create`: 0 once the App is made; `doctor`: 0 fine, 1 something is
    missing; `uninstall`: 0 when the App is on no account, 1 where `--yes` is wanted first."""
    return _ACTIONS[args.action](args)


def _create(args: argparse.Namespace) -> int:
    words = Catalog(args.lang)
    # As every other command finds GitHub.
    api, server = urls.api().rstrip("/"), urls.server().rstrip("/")
    plan = AppPlan(_https_address(args.url), _organization(args.org), args.name, api, server)
    with reserve_file(Path(args.output)) as file, open_listener(args.port) as listener:
        own_address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        flow = ManifestFlow(plan, own_address, words)
        sys.stderr.write(words("app.open", address=own_address + flow.begin) + "\n")
        sys.stderr.flush()
        app = wait_for_app(listener, flow)
        file.write(credentials(app, plan))
    address = f"{app['html_url']}/installations/new"
    write_output(words("app.created", path=args.output, address=address) + "\n", None)
    return 0


def _digest(args: argparse.Namespace) -> int:
    store = PageStore(engine_for(load(args.config).database))
    pulls = store.reviewed_since(time.time() - args.days * _DAY)
    write_output(digest.render(pulls, args.days, args.format, args.lang), args.output)
    return 0


def _uninstall(args: argparse.Namespace) -> int:
    """Without `--yes` it says what would go and changes nothing."""
    words = Catalog(args.lang)
    settings = load(args.config)
    app = settings.app
    left = remains(app, settings)
    installed = installations(app)
    for installation in installed:
        if args.yes:
            uninstall(app, installation)
        key = "app.uninstalled" if args.yes else "app.would-uninstall"
        write_output(words(key, account=installation.account) + "\n", None)
    sentence = words(
        "app.remains",
        page=left.settings_page,
        database=left.database,
        files=[str(path) for path in left.files],
    )
    write_output("\n" + sentence + "\n", None)
    return 1 if installed and not args.yes else 0


def _doctor(args: argparse.Namespace) -> int:
    words = Catalog(args.lang)
    missing = 0
    settings = load(args.config)
    live = run_live_checks(settings) if args.live else ()
    for result in itertools.chain(run_checks(settings), live):
        if result.good is False:
            missing += 1
        # One line after the other: each check may wait for GitHub.
        write_output(f"{_MARKS[result.good]} {words(result.key, **result.args)}\n", None)
    write_output("\n" + words("app.verdict", missing=missing) + "\n", None)
    return 1 if missing else 0


def _https_address(text: str) -> str:
    """The service's public address. Webhooks carry what is said on private repositories, so it is
    HTTPS. Raises `UserError`."""
    if not _is_https_address(text):
        raise UserError("app-url", url=text)
    return text.rstrip("/")


def _is_https_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return False
    if parts.scheme != "https" or not parts.hostname or port == 0:
        return False
    return not (parts.username or parts.query or parts.fragment)


def _organization(text: str) -> str:
    if text and not _LOGIN.fullmatch(text):
        raise UserError("app-org", name=text)
    return text


_ACTIONS = {
    "create": _create,
    "doctor": _doctor,
    "digest": _digest,
    "uninstall": _uninstall,
}
