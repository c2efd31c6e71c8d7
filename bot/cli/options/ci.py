"""The options of `specbot ci`."""

from __future__ import annotations

import argparse

from bot.i18n.catalog import Catalog

# Where the service keeps its database unless told otherwise.
DATABASE = "specbot-data/specbot.sqlite"
_FORMATS = ("terminal", "markdown", "json", "html", "github")
_STATS_FORMATS = ("terminal", "markdown", "json")


def add_ci_actions(
    parser: argparse.ArgumentParser, shared: argparse.ArgumentParser, words: Catalog
) -> None:
    """The actions of `specbot ci` and their options."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    report = actions.add_parser(
        "report", help=words("ci.cli-report"), parents=[shared], allow_abbrev=False
    )
    add = report.add_argument
    add("folder", metavar="DIR", help=words("ci.cli-folder"))
    add("--repo", metavar="DIR", help=words("ci.cli-repo"))
    add("--base", metavar="REV", help=words("ci.cli-base"))
    add("--head", metavar="REV", help=words("ci.cli-head"))
    add("--records", nargs=2, metavar=("BASE", "HEAD"), help=words("comparison.help-records"))
    add("--db", metavar="FILE", help=words("ci.cli-db"))
    add("--since", metavar="DIR", help=words("ci.cli-since"))
    add("--format", choices=_FORMATS, default="terminal", help=words("cli.format"))
    add("-o", "--output", metavar="FILE", help=words("cli.output"))
    stats = actions.add_parser(
        "stats", help=words("ci.cli-stats"), parents=[shared], allow_abbrev=False
    )
    add = stats.add_argument
    database = words("ci.cli-stats-db", default=DATABASE)
    add("--db", metavar="FILE", default=DATABASE, help=database)
    add("--format", choices=_STATS_FORMATS, default="terminal", help=words("cli.format"))
    add("-o", "--output", metavar="FILE", help=words("cli.output"))
    collect = actions.add_parser(
        "collect", help=words("ci.cli-collect"), parents=[shared], allow_abbrev=False
    )
    add = collect.add_argument
    add("--pr", required=True, metavar="OWNER/REPO#N", help=words("ci.cli-pull"))
    add("-o", "--output", required=True, metavar="DIR", help=words("ci.cli-into"))
