"""`specbot ci`: why a CI run is red."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from bot.i18n.catalog import Catalog

if TYPE_CHECKING:
    from checks.ci.model import CIRun
    from checks.ci.report import CIReport

# Where the service keeps its database unless told otherwise.
DATABASE = "specbot-data/specbot.sqlite"
FORMATS = ("terminal", "markdown", "json", "html", "github")


def arguments(
    parser: argparse.ArgumentParser, shared: argparse.ArgumentParser, words: Catalog
) -> None:
    """The actions and their arguments."""
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
    add("--format", choices=FORMATS, default="terminal", help=words("cli.format"))
    add("-o", "--output", metavar="FILE", help=words("cli.output"))
    stats = actions.add_parser(
        "stats", help=words("ci.cli-stats"), parents=[shared], allow_abbrev=False
    )
    stats.add_argument(
        "--db", metavar="FILE", default=DATABASE, help=words("ci.cli-stats-db", default=DATABASE)
    )
    stats.add_argument(
        "--format",
        choices=("terminal", "markdown", "json"),
        default="terminal",
        help=words("cli.format"),
    )
    stats.add_argument("-o", "--output", metavar="FILE", help=words("cli.output"))
    collect = actions.add_parser(
        "collect", help=words("ci.cli-collect"), parents=[shared], allow_abbrev=False
    )
    collect.add_argument("--pr", required=True, metavar="OWNER/REPO#N", help=words("ci.cli-pull"))
    collect.add_argument("-o", "--output", required=True, metavar="DIR", help=words("ci.cli-into"))


def run(args: argparse.Namespace) -> int:
    """Do what was asked; gives the exit code."""
    return {"collect": _collect, "report": _report, "stats": _stats}[args.action](args)


def _stats(args: argparse.Namespace) -> int:
    """Say how often verdicts were right."""
    from bot.ci.history import in_file
    from bot.files import write_output
    from bot.reports.ci.stats import render

    write_output(
        render(in_file(Path(args.db), new=False).precisions(), args.format, args.lang), args.output
    )
    return 0


def _collect(args: argparse.Namespace) -> int:
    """Save a pull request's run in a folder, and say what is in it."""
    from bot.ci.collect import collect
    from bot.ci.source import from_environment, place_of
    from bot.errors import UserError
    from bot.files import write_output
    from bot.github import RateLimited

    source = from_environment(place_of(args.pr))
    try:
        saved = collect(source, Path(args.output), datetime.now(UTC).replace(microsecond=0))
    except RateLimited as error:
        raise UserError("ci-limited", reason=str(error)) from error
    words = Catalog(args.lang)
    counts = {"jobs": len(saved.jobs), "failed": sum(j.failed for j in saved.jobs)}
    lines = [
        words(
            "ci.collected-into",
            path=args.output,
            logs=sum(bool(j.log) for j in saved.jobs),
            **counts,
        )
    ]
    lines += [words("ci.collected-problem", problem=words(f"ci.{key}")) for key in saved.problems]
    write_output("".join(f"{line}\n" for line in lines), None)
    return 0


def _before(args: argparse.Namespace, saved: CIRun) -> CIRun | None:
    """The run of the last report: the one that is named, else the database's where that is older."""
    from bot.ci.history import in_file
    from bot.ci.run_folder import read

    if args.since:
        return read(Path(args.since))
    last = (
        in_file(Path(args.db), new=True).last(saved.pull.repo, saved.pull.number)
        if args.db
        else None
    )
    return last if last is not None and last.collected < saved.collected else None


def _report(args: argparse.Namespace) -> int:
    """Write the report of a saved run."""
    from bot.ci.run_folder import Folder, read, reported
    from bot.files import write_output
    from bot.reports.ci import CIView, render
    from checks.ci.report_diff import since

    folder = Path(args.folder)
    saved = read(folder)
    before = _before(args, saved)
    report = reported(saved, Folder(folder), args.repo, args.base, args.head, args.records or ())
    view = CIView(report, since(before, saved) if before is not None else None)
    write_output(render(view, args.format, args.lang), args.output)
    if args.db:
        _remember(args.db, saved, report)
    return 0


def _remember(file: str, saved: CIRun, report: CIReport) -> None:
    from bot.ci.history import in_file
    from bot.reports.json_v1 import plain

    history = in_file(Path(file), new=True)
    history.record(saved, plain(report))
    history.reported(saved)
