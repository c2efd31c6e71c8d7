"""`specbot app`: make the GitHub App, and find out what it lacks."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from urllib.parse import urlsplit

from bot.errors import UserError
from bot.files import write_output
from bot.i18n.catalog import Catalog

_LOGIN = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,38})")


def arguments(
    parser: argparse.ArgumentParser, shared: argparse.ArgumentParser, words: Catalog
) -> None:
    """The actions and their options."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    create = actions.add_parser(
        "create", help=words("app.cli-create"), parents=[shared], allow_abbrev=False
    )
    add = create.add_argument
    add("--url", required=True, metavar="URL", help=words("app.cli-url"))
    add("--org", default="", metavar="NAME", help=words("app.cli-org"))
    add("--name", default="", metavar="NAME", help=words("app.cli-name"))
    add("--port", type=int, default=0, metavar="N", help=words("app.cli-port"))
    add("-o", "--output", default="specbot.toml", metavar="FILE", help=words("app.cli-output"))
    doctor = actions.add_parser(
        "doctor", help=words("app.cli-doctor"), parents=[shared], allow_abbrev=False
    )
    doctor.add_argument("--config", metavar="FILE", help=words("cli.serve-config"))


def run(args: argparse.Namespace) -> int:
    """Do what was asked. `create`: 0 once the App is made; `doctor`: 0 fine, 1 something is missing."""
    return _create(args) if args.action == "create" else _doctor(args)


def _create(args: argparse.Namespace) -> int:
    from bot.app.create import Flow, Plan, created, credentials, listening
    from bot.app.credentials import reserved

    words = Catalog(args.lang)
    plan = Plan(_address(args.url), _organization(args.org), args.name, *_github())
    with reserved(Path(args.output)) as file, listening(args.port) as listener:
        here = f"http://127.0.0.1:{listener.getsockname()[1]}"
        flow = Flow(plan, here, words)
        sys.stderr.write(words("app.open", address=here + flow.begin) + "\n")
        sys.stderr.flush()
        made = created(listener, flow)
        file.write(credentials(made, plan))
    address = f"{made['html_url']}/installations/new"
    write_output(words("app.created", path=args.output, address=address) + "\n", None)
    return 0


def _doctor(args: argparse.Namespace) -> int:
    from bot.app.doctor import examined
    from bot.settings import load

    words = Catalog(args.lang)
    settings = load(args.config)
    missing = 0
    for sign in examined(settings):
        mark = {True: "✓", False: "✗", None: "–"}[sign.good]
        missing += sign.good is False
        write_output(f"{mark} {words(sign.key, **sign.args)}\n", None)
    write_output("\n" + words("app.verdict", missing=missing) + "\n", None)
    return int(missing > 0)


def _github() -> tuple[str, str]:
    """Addresses of GitHub's API and of its pages, as every other command finds them."""
    from bot.github import urls as address

    return address.api().rstrip("/"), address.server().rstrip("/")


def _address(text: str) -> str:
    """The service's public address. Webhooks carry what is said on private repositories, so it is HTTPS."""
    try:
        parts = urlsplit(text)
        good = (
            parts.scheme == "https"
            and bool(parts.hostname)
            and not parts.username
            and parts.port != 0
        )
    except ValueError:
        good = False
    if not good or parts.query or parts.fragment:
        raise UserError("app-url", url=text)
    return text.rstrip("/")


def _organization(text: str) -> str:
    if text and not _LOGIN.fullmatch(text):
        raise UserError("app-org", name=text)
    return text
