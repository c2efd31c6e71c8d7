"""Which change a command looks at: revisions, what is not committed yet, or a pull request."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from bot.errors import UserError
from bot.files import read_text
from bot.git import Git, Range, resolve
from bot.git.uncommitted import uncommitted
from bot.packaging import require_extra
from bot.pipeline import open_change
from checks.core.change import ChangeSet, PullRequest

if TYPE_CHECKING:
    from bot.cli.github_pull import PullOnGitHub


@dataclass(frozen=True)
class NamedChange:
    """A change that a person named; `pull` is there where it is a pull request on GitHub."""

    git: Git
    compared: Range
    change: ChangeSet
    pull: PullOnGitHub | None = None


@contextmanager
def open_named_change(args: argparse.Namespace) -> Iterator[NamedChange]:
    """The change that the arguments name, readable while this is open. Raises `UserError`."""
    _require_one_way(args)
    if args.pr:
        require_extra("github")
        # For this option alone: the extra may not be installed.
        from bot.cli.github_pull import open_pull

        pull = open_pull(args)
        with _open(args, pull.git, pull.compared, pull.snapshot.pull, pull) as named:
            yield named
        return
    git = Git(Path(args.repo or "."))
    if args.staged or args.worktree:
        with uncommitted(git, staged=args.staged) as (with_commit, commit):
            compared = resolve(with_commit, args.base or "HEAD", commit, merge_base=True)
            with _open(args, with_commit, compared, PullRequest()) as named:
                yield named
        return
    base, head, merge_base = _revisions(args)
    compared = resolve(git, base, head, merge_base=merge_base)
    with _open(args, git, compared, PullRequest()) as named:
        yield named


def _require_one_way(args: argparse.Namespace) -> None:
    """Raises `UserError` where the change is named twice."""
    named = {
        "A..B": args.range,
        "--pr": args.pr,
        "--staged": args.staged,
        "--worktree": args.worktree,
    }
    given = [name for name, value in named.items() if value]
    is_named = args.head is not None or args.base is not None
    # Of what is not committed, the base may be named; in a local clone, a pull request's both ends.
    if is_named and (args.range or (args.head is not None and (args.staged or args.worktree))):
        given.append("--base, --head")
    if len(given) > 1:
        raise UserError("two-ranges", names=given)


def _revisions(args: argparse.Namespace) -> tuple[str | None, str | None, bool]:
    """Base, head, and whether to begin where the head left the base: as `git diff` takes `A..B` and
    `A...B`. An end that is left out is `HEAD`."""
    if not args.range:
        return args.base, args.head, args.merge_base
    for dots, merge_base in (("...", True), ("..", False)):
        base, found, head = args.range.partition(dots)
        if found:
            return base or "HEAD", head or "HEAD", merge_base
    return args.range, None, args.merge_base


@contextmanager
def _open(
    args: argparse.Namespace,
    git: Git,
    compared: Range,
    known: PullRequest,
    pull_on_github: PullOnGitHub | None = None,
) -> Iterator[NamedChange]:
    pull = _described_pull(args, known)
    # The branch that is named, else GitHub's, else the default branch that the base was taken from.
    target = pull.target_branch or compared.target
    if args.target_branch is not None:
        target = args.target_branch
    with open_change(git, compared, replace(pull, target_branch=target)) as change:
        yield NamedChange(git, compared, change, pull_on_github)


def _described_pull(args: argparse.Namespace, known: PullRequest) -> PullRequest:
    """`known`, with what `--title` and `--body-file` say in its place."""
    if args.title is None:
        if args.body_file is not None:
            raise UserError("body-without-title")
        return known
    body = known.body if args.body_file is None else read_text(args.body_file)
    return replace(known, title=args.title, body=body, known=True)
