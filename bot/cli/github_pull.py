"""A pull request on GitHub, for a command of somebody who need not have the repository.

A module of its own, because it alone needs the extra `github`.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass
from pathlib import Path

from github import Auth

from bot import urls
from bot.ci.source import TOKENS, place_of
from bot.errors import UserError
from bot.git import Git, Range, object_id, resolve
from bot.github import Client, GitHubError, RateLimited
from bot.github.checkout import Checkouts
from bot.github.client import Cache
from bot.github.discussion import PullSnapshot, read_pull, threads
from bot.github.own_comments import PullPlace
from bot.github.rate_limit import RateLimiter
from checks.summary.discussion import Thread


@dataclass(frozen=True)
class PullOnGitHub:
    """A pull request whose commits are in the clone `git`."""

    place: PullPlace
    git: Git
    compared: Range
    snapshot: PullSnapshot
    client: Client
    has_token: bool

    def threads(self) -> tuple[Thread, ...] | None:
        """What people said; None without a token, since only GraphQL tells it.

        Raises `UserError` where GitHub does not answer.
        """
        if not self.has_token:
            return None
        try:
            return threads(self.client, self.place)
        except RateLimited as error:
            raise UserError("ci-limited", reason=str(error)) from error
        except GitHubError as error:
            name = _name(self.place)
            raise UserError("ci-unreadable-pull", pull=name, reason=str(error)) from error


def open_pull(args: argparse.Namespace) -> PullOnGitHub:
    """The pull request `--pr`: a URL, or OWNER/REPO#N. Raises `UserError`.

    Its commits come from the clone that `--repo` names, else from one in the cache, which is made
    where there is none. A public repository needs no token.
    """
    place = place_of(args.pr)
    token = next((os.environ[name] for name in TOKENS if os.environ.get(name)), "")
    auth = Auth.Token(token) if token else None
    client = Client(urls.api(), auth, RateLimiter(), Cache(), attempts=1)
    snapshot = _read_snapshot(client, place, bool(token))
    if args.repo is None:
        git, compared = _fetch(place, token, snapshot)
    else:
        git = Git(Path(args.repo))
        compared = _local_range(git, args, place, snapshot)
    return PullOnGitHub(place, git, compared, snapshot, client, bool(token))


def _fetch(place: PullPlace, token: str, snapshot: PullSnapshot) -> tuple[Git, Range]:
    """The clone in the cache, with the commits of the pull request."""
    checkouts = Checkouts(_cache() / "clones", urls.server())
    target = snapshot.pull.target_branch
    try:
        clone, compared = checkouts.fetch(
            place.repository, token, target, snapshot.head, with_past=True
        )
    except GitHubError as error:
        raise UserError("pull-not-cloned", pull=_name(place), reason=str(error)) from error
    return Git(clone), compared


def _local_range(
    git: Git, args: argparse.Namespace, place: PullPlace, snapshot: PullSnapshot
) -> Range:
    """The pull request's commits in a local clone, or those that are named.

    Raises `UserError` for one that the clone does not have.
    """
    base, head = args.base or snapshot.base, args.head or snapshot.head
    for commit in (base, head):
        if object_id(git, f"{commit}^{{commit}}") is None:
            target = snapshot.pull.target_branch
            command = f"git fetch origin {target} pull/{place.number}/head"
            name = _name(place)
            raise UserError("pull-not-fetched", pull=name, commit=commit[:12], command=command)
    return resolve(git, base, head, merge_base=args.merge_base)


def _read_snapshot(client: Client, place: PullPlace, has_token: bool) -> PullSnapshot:
    name = _name(place)
    try:
        return read_pull(client, place)
    except RateLimited as error:
        raise UserError("ci-limited", reason=str(error)) from error
    except GitHubError as error:
        if error.status == 0:
            raise UserError("offline", address=urls.api()) from error
        if error.status in (401, 404) and not has_token:
            raise UserError("pull-private", pull=name, names=list(TOKENS)) from error
        raise UserError("ci-unreadable-pull", pull=name, reason=str(error)) from error


def _cache() -> Path:
    """Where clones are kept between runs."""
    folder = os.environ.get("XDG_CACHE_HOME")
    return (Path(folder) if folder else Path.home() / ".cache") / "specbot"


def _name(place: PullPlace) -> str:
    return f"{place.repository}#{place.number}"
