"""`specbot review`: one change, from a local repository to a report."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
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
    with open_named_change(args) as (_, _, change):
        report = run_review(
            change,
            config_file=args.config,
            profile=args.profile,
            pedantic=args.persona == "pedantic",
            progress=progress_on_terminal(Catalog(args.lang)),
        )
        if args.records:
            # For this option alone: it reads numpy and the whole comparison of records.
            from bot.logprobs.answer import with_record_evidence

            report = with_record_evidence(report, *args.records)
        text = format_named(args.format).render(report, args.lang)
    write_output(text, args.output)
    return exit_code(report.review, args.fail_on)


@contextmanager
def open_named_change(
    args: argparse.Namespace, known: PullRequest | None = None
) -> Iterator[tuple[Git, Range, ChangeSet]]:
    """The repository, the range and the change that the arguments name, readable while this is
    open.

    `known` is the pull request as GitHub has it; the arguments win over it.
    """
    pull = _described_pull(args, known or PullRequest())
    git = Git(Path(args.repo))
    compared = resolve(git, args.base, args.head, merge_base=args.merge_base)
    # The branch that is named, else GitHub's, else the default branch that the base was taken from.
    target = pull.target_branch or compared.target
    if args.target_branch is not None:
        target = args.target_branch
    pull = replace(pull, target_branch=target)
    with open_change(git, compared, pull) as change:
        yield git, compared, change


def _described_pull(args: argparse.Namespace, known: PullRequest) -> PullRequest:
    """`known`, with what `--title` and `--body-file` say in its place."""
    if args.title is None:
        if args.body_file is not None:
            raise UserError("body-without-title")
        return known
    body = known.body if args.body_file is None else read_text(args.body_file)
    return replace(known, title=args.title, body=body, known=True)


def exit_code(outcome: Review, fail_on: str) -> int:
    """1 where a finding is at least as severe as `fail_on` says, else 0."""
    if fail_on == "never":
        return 0
    most_severe_first = list(Severity)
    limit = most_severe_first.index(Severity(fail_on))
    for finding in outcome.findings:
        if most_severe_first.index(finding.severity) <= limit:
            return 1
    return 0
