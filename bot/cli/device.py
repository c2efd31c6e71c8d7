"""`specbot device`: the device code of a change, run on a CPU in confined processes."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bot.cli.exit_codes import severity_exit_code
from bot.configuration import load_configuration
from bot.device import actions, shown_again
from bot.device.workspace import device_sources
from bot.files import read_text, write_output
from bot.git import Git, resolve
from bot.i18n.catalog import Catalog
from bot.pipeline import open_change
from bot.reports import device as device_report
from checks.core.change import ChangeSet, PullRequest

# As many sources as a person waits for without being told.
_MANY = 8


def run(args: argparse.Namespace) -> int:
    """Run, write the report, and give the exit code that `--fail-on` asks for."""
    git = Git(Path(args.repo))
    alone = args.base is None
    head = "HEAD" if args.head is None else args.head
    compared = resolve(git, head if alone else args.base, head, merge_base=not alone)
    with open_change(git, compared, _pull(args)) as change:
        if alone and not args.paths:
            _tell_how_much(change, args.lang)
        request = actions.Request(
            args.action,
            change,
            load_configuration(change.base, None, None),
            shown_again.command(
                args.action,
                "" if alone else compared.base,
                compared.head,
                args.title or "",
                args.repo,
            ),
            tuple(args.paths or ()),
            alone,
            args.timeout,
            args.cases,
        )
        report = actions.run(request, _progress())
        verbose = args.action == "compare" and args.verbose
        text = device_report.render(report, args.format, args.lang, verbose=verbose)
    write_output(text, args.output)
    return severity_exit_code(report.findings, args.fail_on)


def _tell_how_much(change: ChangeSet, language: str) -> None:
    """All sources of a revision and all of their tests may take hours: say so before."""
    count = len(device_sources(change.head, ()))
    if count > _MANY:
        sys.stderr.write(Catalog(language)("device.all-sources", count=count) + "\n")


def _pull(args: argparse.Namespace) -> PullRequest:
    body = read_text(args.body_file) if args.body_file else ""
    return PullRequest(title=args.title or "", body=body, known=bool(args.title))


def _progress() -> actions.Progress:
    if not sys.stderr.isatty():
        return lambda _: None

    def show(text: str) -> None:
        sys.stderr.write("\r\x1b[K" + text[:100])
        sys.stderr.flush()

    return show
