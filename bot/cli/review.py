"""`specbot review`: one change, from a local repository to a report."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bot.errors import UserError
from bot.files import read_text, write_output
from bot.git import Git, Range, resolve
from bot.i18n.catalog import Catalog
from bot.pipeline import open_change, progress_on_terminal, run_review
from bot.reports import format_named
from checks.core.change import ChangeSet, PullRequest
from checks.core.finding import Severity
from checks.review import Review


def run(args: argparse.Namespace) -> int:
    """Review, write the report, and give the exit code that `--fail-on` asks for."""
    with asked(args) as (_, _, change):
        report = run_review(
            change,
            config_file=args.config,
            profile=args.profile,
            pedantic=args.persona == "pedantic",
            progress=progress_on_terminal(Catalog(args.lang)),
        )
        if args.records:
            from bot.logprobs.answer import answered

            report = answered(report, *args.records)
        text = format_named(args.format).render(report, args.lang)
    write_output(text, args.output)
    return exit_code(report.review, args.fail_on)


@contextmanager
def asked(
    args: argparse.Namespace, known: PullRequest | None = None
) -> Iterator[tuple[Git, Range, ChangeSet]]:
    """The repository, the range and the change that the arguments name, readable while this is open. What they do not
    tell of the pull request, `known` does, which is what GitHub said of it."""
    pull = _told(args, known or PullRequest())
    git = Git(Path(args.repo))
    compared = resolve(git, args.base, args.head, merge_base=args.merge_base)
    with open_change(git, compared, _aimed(pull, compared, args.target_branch)) as change:
        yield git, compared, change


def _told(args: argparse.Namespace, known: PullRequest) -> PullRequest:
    """`known` with what `--title` and `--body-file` say in its place."""
    if args.title is None:
        if args.body_file is not None:
            raise UserError("body-without-title")
        return known
    body = read_text(args.body_file) if args.body_file is not None else known.body
    return PullRequest(args.title, body, known.labels, known.target_branch, known=True)


def _aimed(pull: PullRequest, compared: Range, target: str | None) -> PullRequest:
    """`pull` with the branch it is for: the one named, else GitHub's, else the default branch that the
    base was taken from."""
    branch = target if target is not None else pull.target_branch or compared.target
    return PullRequest(pull.title, pull.body, pull.labels, branch, pull.known)


def exit_code(outcome: Review, fail_on: str) -> int:
    """1 where a finding is at least as severe as `fail_on` says, else 0."""
    order = list(Severity)
    if fail_on == "never":
        return 0
    least = order.index(Severity(fail_on))
    return int(any(order.index(f.severity) <= least for f in outcome.findings))
