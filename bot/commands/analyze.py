"""`specbot analyze`: what a change is, for people who did not follow it."""

from __future__ import annotations

import argparse
from pathlib import Path

from bot.commands.review import aimed, told
from bot.files import write_output
from bot.git import Git, resolve
from bot.git.history import history
from bot.reports import analysis as reports
from bot.reviewing import opened, progress_on_terminal, reviewed
from bot.words import Words
from checks.analysis import analyse


def run(args: argparse.Namespace) -> int:
    """Analyse, and write the page."""
    pull = told(args)
    git = Git(Path(args.repo))
    compared = resolve(git, args.base, args.head, merge_base=args.merge_base)
    with opened(git, compared, aimed(pull, compared, args.target_branch)) as change:
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
