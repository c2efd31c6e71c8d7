"""`specbot analyze`: what a change is, for people who did not follow it."""

from __future__ import annotations

import argparse

from bot.commands.review import asked
from bot.files import write_output
from bot.git.history import history
from bot.reports import analysis as reports
from bot.reviewing import progress_on_terminal, reviewed
from bot.words import Words
from checks.analysis import analyse


def run(args: argparse.Namespace) -> int:
    """Analyse, and write the page."""
    with asked(args) as (git, compared, change):
        report = reviewed(
            change,
            config_file=args.config,
            profile=args.profile,
            progress=progress_on_terminal(Words(args.lang)),
        )
        found = analyse(report.review, report.facts, history(git, compared, change))
        text = reports.render(reports.AnalysisReport(report, found), args.format, args.lang)
    write_output(text, args.output)
    return 0
