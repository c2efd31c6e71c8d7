"""`specbot ci`: why a CI run is red."""

from __future__ import annotations

import argparse
from pathlib import Path

from bot.words import Words

FORMATS = ("terminal", "markdown", "json", "html", "github")


def arguments(parser: argparse.ArgumentParser, shared: argparse.ArgumentParser, words: Words) -> None:
    """The actions and their arguments."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    report = actions.add_parser("report", help=words("ci.cli-report"), parents=[shared], allow_abbrev=False)
    add = report.add_argument
    add("folder", metavar="DIR", help=words("ci.cli-folder"))
    add("--repo", metavar="DIR", help=words("cli.repo"))
    add("--base", metavar="REV", help=words("cli.base"))
    add("--head", metavar="REV", help=words("cli.head"))
    add("--since", metavar="DIR", help=words("ci.cli-since"))
    add("--format", choices=FORMATS, default="terminal", help=words("cli.format"))
    add("-o", "--output", metavar="FILE", help=words("cli.output"))


def run(args: argparse.Namespace) -> int:
    """Write the report of a saved run."""
    from bot.ci.saved import Folder, read, reported
    from bot.files import write_output
    from bot.reports.ci import CIView, render
    from checks.ci.since import since

    folder = Path(args.folder)
    saved = read(folder)
    before = read(Path(args.since)) if args.since else None
    report = reported(saved, Folder(folder), args.repo, args.base, args.head)
    view = CIView(report, since(before, saved) if before is not None else None)
    write_output(render(view, args.format, args.lang), args.output)
    return 0
