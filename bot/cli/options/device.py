"""The options of `specbot device`."""

from __future__ import annotations

import argparse

from bot.cli.options.values import count, duration
from bot.device import LONGEST_TEST
from bot.i18n.catalog import Catalog

_FORMATS = ("terminal", "markdown", "json", "html")
_FAIL_ON = ("bug", "suggestion", "never")


def add_device_actions(
    parser: argparse.ArgumentParser, shared: argparse.ArgumentParser, words: Catalog
) -> None:
    """The actions of `specbot device` and their options."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name in ("test", "compare", "cover"):
        action = actions.add_parser(
            name, help=words(f"device.{name}"), parents=[shared], allow_abbrev=False
        )
        add = action.add_argument
        add("--repo", default=".", metavar="DIR", help=words("cli.repo"))
        add("--base", metavar="REV", help=words("device.base"))
        add("--head", metavar="REV", help=words("device.head"))
        add("--paths", action="append", metavar="GLOB", help=words("device.paths"))
        add(
            "--timeout",
            type=duration,
            default=LONGEST_TEST,
            metavar="S",
            help=words("device.timeout"),
        )
        add("--cases", type=count, default=0, metavar="N", help=words("device.cases"))
        if name == "compare":
            add("-v", "--verbose", action="store_true", help=words("device.verbose"))
        add("--title", metavar="TEXT", help=words("cli.title"))
        add("--body-file", metavar="FILE", help=words("cli.body-file"))
        add("--format", choices=_FORMATS, default="terminal", help=words("cli.format"))
        add("--fail-on", choices=_FAIL_ON, default="bug", help=words("cli.fail-on"))
        add("-o", "--output", metavar="FILE", help=words("cli.output"))
