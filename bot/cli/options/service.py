"""The options of `specbot serve`, `worker` and `app`."""

from __future__ import annotations

import argparse

from bot.i18n.catalog import Catalog


def add_serve_options(parser: argparse.ArgumentParser, words: Catalog) -> None:
    """The options of `specbot serve`."""
    add = parser.add_argument
    add("--role", choices=("all", "web"), default="all", help=words("cli.serve-role"))
    add("--host", metavar="ADDRESS", help=words("cli.serve-host"))
    add("--port", type=int, metavar="N", help=words("cli.serve-port"))
    add("--config", metavar="FILE", help=words("cli.serve-config"))


def add_worker_options(parser: argparse.ArgumentParser, words: Catalog) -> None:
    """The options of `specbot worker`."""
    add = parser.add_argument
    add("--queues", metavar="Q", help=words("cli.worker-queues"))
    add("--config", metavar="FILE", help=words("cli.serve-config"))


def add_app_actions(
    parser: argparse.ArgumentParser, shared: argparse.ArgumentParser, words: Catalog
) -> None:
    """The actions of `specbot app` and their options."""
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
