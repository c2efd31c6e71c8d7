"""`specbot analyze`: what a change is, for people who did not follow it."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

from bot.analysis import run_analysis
from bot.ci.source import from_environment, place_of
from bot.cli.review import open_named_change
from bot.errors import UserError
from bot.files import write_output
from bot.git import Git, object_id
from bot.github import GitHubError, RateLimited
from bot.github.discussion import PullSnapshot, read_pull, threads
from bot.i18n.catalog import Catalog
from bot.pipeline import progress_on_terminal, run_review
from bot.reports import analysis
from bot.reports.charts import stacked_bars
from checks.core.change import PullRequest
from checks.summary.discussion import Thread


def run(args: argparse.Namespace) -> int:
    """Analyse, and write the page."""
    pull: PullRequest | None = None
    discussion: tuple[Thread, ...] | None = None
    if args.pr:
        snapshot, discussion = _read_from_github(args.pr)
        _compare_pull(args, snapshot)
        pull = snapshot.pull
    with open_named_change(args, pull) as (git, compared, change):
        review = partial(
            run_review,
            change,
            config_file=args.config,
            profile=args.profile,
            progress=progress_on_terminal(Catalog(args.lang)),
        )
        view = run_analysis(git, compared, change, review, discussion)
        text = analysis.render(view, args.format, args.lang, stacked_bars)
    write_output(text, args.output)
    return 0


def _read_from_github(name: str) -> tuple[PullSnapshot, tuple[Thread, ...]]:
    """The pull request and its discussion. Raises `UserError` where there is no token or GitHub
    does not answer."""
    place = place_of(name)
    client = from_environment(place).client
    try:
        return read_pull(client, place), threads(client, place)
    except RateLimited as error:
        raise UserError("ci-limited", reason=str(error)) from error
    except GitHubError as error:
        raise UserError("ci-unreadable-pull", pull=name, reason=str(error)) from error


def _compare_pull(args: argparse.Namespace, snapshot: PullSnapshot) -> None:
    """Compare the commits of the pull request where no others are named. Raises `UserError` for
    one that the clone does not have."""
    git = Git(Path(args.repo))
    for side in ("base", "head"):
        if getattr(args, side) is not None:
            continue
        commit = getattr(snapshot, side)
        if object_id(git, f"{commit}^{{commit}}") is None:
            number = args.pr.rpartition("#")[2]
            fetch = f"git fetch origin {snapshot.pull.target_branch} pull/{number}/head"
            raise UserError("pull-not-fetched", pull=args.pr, commit=commit[:12], command=fetch)
        setattr(args, side, commit)
