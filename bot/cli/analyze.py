"""`specbot analyze`: what a change is, for people who did not follow it."""

from __future__ import annotations

import argparse
from functools import partial

from bot.analysis import run_analysis
from bot.cli.compared import NamedChange, open_named_change
from bot.files import write_output
from bot.i18n.catalog import Catalog
from bot.packaging import require_extra
from bot.pipeline import progress_on_terminal, run_review
from bot.reports import analysis
from bot.reports.analysis import PullActivity


def run(args: argparse.Namespace) -> int:
    """Analyse, and write the page."""
    if args.format == "html":
        require_extra("pictures")
    with open_named_change(args) as named:
        review = partial(
            run_review,
            named.change,
            config_file=args.config,
            profile=args.profile,
            progress=progress_on_terminal(Catalog(args.lang)),
        )
        discussion = named.pull.threads() if named.pull is not None else None
        view = run_analysis(
            named.git, named.compared, named.change, review, discussion, _activity(named)
        )
        text = analysis.render(view, args.format, args.lang)
    write_output(text, args.output)
    return 0


def _activity(named: NamedChange) -> PullActivity | None:
    if named.pull is None:
        return None
    snapshot = named.pull.snapshot
    return PullActivity(snapshot.commits, snapshot.comments, snapshot.merged)
