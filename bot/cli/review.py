"""`specbot review`: one change, from a local repository to a report."""

from __future__ import annotations

import argparse
from dataclasses import replace

from bot.cli.compared import NamedChange, open_named_change
from bot.cli.exit_codes import severity_exit_code
from bot.files import write_output
from bot.git.uncommitted import has_uncommitted_changes
from bot.i18n.catalog import Catalog
from bot.packaging import require_extra
from bot.pipeline import progress_on_terminal, run_review
from bot.reports import Report, format_named, terminal
from checks.core.finding import Message


def run(args: argparse.Namespace) -> int:
    """Review, write the report, and give the exit code that `--fail-on` asks for."""
    with open_named_change(args) as named:
        report = run_review(
            named.change,
            config_file=args.config,
            profile=args.profile,
            pedantic=args.persona == "pedantic",
            progress=progress_on_terminal(Catalog(args.lang)),
        )
        if args.records:
            require_extra("logprobs")
            # For this option alone: it reads numpy and the whole comparison of records.
            from bot.logprobs.answer import with_record_evidence

            report = with_record_evidence(report, *args.records)
        report = _with_hint_of_uncommitted(report, named)
        if args.format == "terminal":
            text = terminal.render(report, args.lang, unfold=args.verbose)
        else:
            text = format_named(args.format).render(report, args.lang)
    write_output(text, args.output)
    return severity_exit_code(report.review.findings, args.fail_on)


def _with_hint_of_uncommitted(report: Report, named: NamedChange) -> Report:
    """Where two equal revisions were compared, whoever asked may have meant what they have not
    committed."""
    if named.change.files or not has_uncommitted_changes(named.git):
        return report
    return replace(report, notes=(*report.notes, Message("uncommitted")))
