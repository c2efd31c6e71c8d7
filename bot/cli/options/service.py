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
    doctor.add_argument("--live", action="store_true", help=words("app.cli-live"))
    digest = actions.add_parser(
        "digest", help=words("app.cli-digest"), parents=[shared], allow_abbrev=False
    )
    add = digest.add_argument
    add("--days", type=int, default=7, metavar="N", help=words("app.cli-days"))
    add("--format", choices=("terminal", "markdown"), default="terminal", help=words("cli.format"))
    add("--config", metavar="FILE", help=words("cli.serve-config"))
    add("-o", "--output", metavar="FILE", help=words("cli.output"))
    uninstall = actions.add_parser(
        "uninstall", help=words("app.cli-uninstall"), parents=[shared], allow_abbrev=False
    )
    uninstall.add_argument("--yes", action="store_true", help=words("app.cli-yes"))
    uninstall.add_argument("--config", metavar="FILE", help=words("cli.serve-config"))


def add_data_actions(
    parser: argparse.ArgumentParser, shared: argparse.ArgumentParser, words: Catalog
) -> None:
    """The actions of `specbot data` and their options."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    made = {
        name: actions.add_parser(
            name, help=words(f"data.cli-{name}"), parents=[shared], allow_abbrev=False
        )
        for name in ("backup", "restore", "purge")
    }
    made["backup"].add_argument(
        "-o", "--output", required=True, metavar="FILE", help=words("data.cli-output")
    )
    made["restore"].add_argument("archive", metavar="FILE", help=words("data.cli-archive"))
    made["purge"].add_argument("--repository", metavar="NAME", help=words("data.cli-repository"))
    for action in made.values():
        action.add_argument("--config", metavar="FILE", help=words("cli.serve-config"))
