"""`specbot ci`: why a CI run is red."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from pathlib import Path

from bot.ci import collect
from bot.ci.history import open_history
from bot.ci.run_folder import Folder, read_run, report_on_run
from bot.ci.source import from_environment, place_of
from bot.errors import UserError
from bot.files import write_output
from bot.github import RateLimited
from bot.i18n.catalog import Catalog
from bot.reports.ci import CIView, render, stats
from bot.reports.json_v1 import plain
from checks.ci.model import CIRun
from checks.ci.report import CIReport
from checks.ci.report_diff import diff_runs


def run(args: argparse.Namespace) -> int:
    """Do what was asked; gives the exit code."""
    return _ACTIONS[args.action](args)


def _stats(args: argparse.Namespace) -> int:
    """Say how often verdicts were right."""
    precisions = open_history(Path(args.db), new=False).precisions()
    write_output(stats.render(precisions, args.format, args.lang), args.output)
    return 0


def _collect(args: argparse.Namespace) -> int:
    """Save a pull request's run in a folder, and say what is in it."""
    source = from_environment(place_of(args.pr))
    now = datetime.now(UTC).replace(microsecond=0)
    try:
        saved = collect.collect(source, Path(args.output), now)
    except RateLimited as error:
        raise UserError("ci-limited", reason=str(error)) from error
    write_output(_collected_text(saved, args.output, Catalog(args.lang)), None)
    return 0


def _collected_text(saved: CIRun, folder: str, words: Catalog) -> str:
    failed = [job for job in saved.jobs if job.failed]
    logs = [job for job in saved.jobs if job.log]
    counts = {"jobs": len(saved.jobs), "failed": len(failed), "logs": len(logs)}
    lines = [words("ci.collected-into", path=folder, **counts)]
    for key in saved.problems:
        lines.append(words("ci.collected-problem", problem=words(f"ci.{key}")))
    return "".join(f"{line}\n" for line in lines)


def _report(args: argparse.Namespace) -> int:
    """Write the report of a saved run."""
    folder = Path(args.folder)
    saved = read_run(folder)
    previous = _previous_run(args, saved)
    report = report_on_run(
        saved, Folder(folder), args.repo, args.base, args.head, args.records or ()
    )
    changes = diff_runs(previous, saved) if previous is not None else None
    write_output(render(CIView(report, changes), args.format, args.lang), args.output)
    if args.db:
        _remember(args.db, saved, report)
    return 0


def _previous_run(args: argparse.Namespace, saved: CIRun) -> CIRun | None:
    """The run of the last report: the one that is named, else the database's where that is
    older."""
    if args.since:
        return read_run(Path(args.since))
    if not args.db:
        return None
    last = open_history(Path(args.db), new=True).last(saved.pull.repo, saved.pull.number)
    if last is None or last.collected >= saved.collected:
        return None
    return last


def _remember(file: str, saved: CIRun, report: CIReport) -> None:
    history = open_history(Path(file), new=True)
    history.record(saved, plain(report))
    history.reported(saved)


_ACTIONS = {"collect": _collect, "report": _report, "stats": _stats}
