"""`specbot ci`: why a CI run is red."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
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
    add("--records", nargs=2, metavar=("BASE", "HEAD"), help=words("comparison.help-records"))
    add("--since", metavar="DIR", help=words("ci.cli-since"))
    add("--format", choices=FORMATS, default="terminal", help=words("cli.format"))
    add("-o", "--output", metavar="FILE", help=words("cli.output"))
    collect = actions.add_parser("collect", help=words("ci.cli-collect"), parents=[shared], allow_abbrev=False)
    collect.add_argument("--pr", required=True, metavar="OWNER/REPO#N", help=words("ci.cli-pull"))
    collect.add_argument("-o", "--output", required=True, metavar="DIR", help=words("ci.cli-into"))


def run(args: argparse.Namespace) -> int:
    """Do what was asked; gives the exit code."""
    return _collect(args) if args.action == "collect" else _report(args)


def _collect(args: argparse.Namespace) -> int:
    """Save a pull request's run in a folder, and say what is in it."""
    from bot.ci.collect import collect
    from bot.ci.source import from_environment, place_of
    from bot.errors import UserError
    from bot.files import write_output
    from bot.github import Limited

    source = from_environment(place_of(args.pr))
    try:
        saved = collect(source, Path(args.output), datetime.now(UTC).replace(microsecond=0))
    except Limited as error:
        raise UserError("ci-limited", reason=str(error)) from error
    words = Words(args.lang)
    counts = {"jobs": len(saved.jobs), "failed": sum(j.failed for j in saved.jobs)}
    lines = [words("ci.collected-into", path=args.output, logs=sum(bool(j.log) for j in saved.jobs), **counts)]
    lines += [words("ci.collected-problem", problem=words(f"ci.{key}")) for key in saved.problems]
    write_output("".join(f"{line}\n" for line in lines), None)
    return 0


def _report(args: argparse.Namespace) -> int:
    """Write the report of a saved run."""
    from bot.ci.saved import Folder, read, reported
    from bot.files import write_output
    from bot.reports.ci import CIView, render
    from checks.ci.since import since

    folder = Path(args.folder)
    saved = read(folder)
    before = read(Path(args.since)) if args.since else None
    report = reported(saved, Folder(folder), args.repo, args.base, args.head, args.records or ())
    view = CIView(report, since(before, saved) if before is not None else None)
    write_output(render(view, args.format, args.lang), args.output)
    return 0
