"""`specbot analyze`: what a change is, for people who did not follow it."""

from __future__ import annotations

import argparse
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bot.drawer import drawer
from bot.errors import UserError
from bot.files import write_output
from bot.reports.charts import Draw, stacked_bars

if TYPE_CHECKING:
    from bot.github.discussion import Pulled
    from checks.summary.discussion import Thread


def run(args: argparse.Namespace) -> int:
    """Analyse, and write the page."""
    pulled, threads = _from_github(args.pr) if args.pr else (None, None)
    if pulled is not None:
        _compare(args, pulled)
    drawing = drawer() if args.format == "html" else nullcontext(stacked_bars)
    with drawing as draw:
        text = _written(args, pulled, threads, draw)
    write_output(text, args.output)
    return 0


def _written(
    args: argparse.Namespace, pulled: Pulled | None, threads: tuple[Thread, ...] | None, draw: Draw
) -> str:
    # Not above: this is read while the other process reads what it draws with.
    from bot.analysing import analysed
    from bot.cli.review import asked
    from bot.i18n.catalog import Words
    from bot.pipeline import progress_on_terminal, reviewed
    from bot.reports import analysis

    with asked(args, pulled.pull if pulled is not None else None) as (git, compared, change):
        review = partial(
            reviewed,
            change,
            config_file=args.config,
            profile=args.profile,
            progress=progress_on_terminal(Words(args.lang)),
        )
        view = analysed(git, compared, change, review, threads)
        return analysis.render(view, args.format, args.lang, draw)


def _from_github(name: str) -> tuple[Pulled, tuple[Thread, ...]]:
    """The pull request and its discussion. Raises `UserError` where there is no token or GitHub does not answer."""
    from bot.ci.source import from_environment, place_of
    from bot.github import GitHubError, Limited
    from bot.github.discussion import pulled, threads

    place = place_of(name)
    client = from_environment(place).client
    try:
        return pulled(client, place), threads(client, place)
    except Limited as error:
        raise UserError("ci-limited", reason=str(error)) from error
    except GitHubError as error:
        raise UserError("ci-unreadable-pull", pull=name, reason=str(error)) from error


def _compare(args: argparse.Namespace, pulled: Pulled) -> None:
    """Compare the commits of the pull request where no others are named. Raises `UserError` for one that the clone
    does not have."""
    from bot.git import Git, object_id

    git = Git(Path(args.repo))
    for side in ("base", "head"):
        if getattr(args, side) is None:
            commit = getattr(pulled, side)
            if object_id(git, f"{commit}^{{commit}}") is None:
                fetch = f"git fetch origin {pulled.pull.target_branch} pull/{args.pr.rpartition('#')[2]}/head"
                raise UserError("pull-not-fetched", pull=args.pr, commit=commit[:12], command=fetch)
            setattr(args, side, commit)
