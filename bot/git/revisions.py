"""From what a person typed to the two objects that are compared."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import NoReturn

from bot.errors import UserError
from bot.git.command import Git
from checks.core.near_names import near_names

_USUAL = ("main", "master", "develop", "trunk")


@dataclass(frozen=True, slots=True)
class Range:
    """Object ids of the base (a commit, or a tree) and of the head commit; the head is a tree where
    what is staged is looked at.

    `target` is the default branch's name where the base was not given.
    """

    base: str
    head: str
    target: str = ""


def resolve(git: Git, base: str | None, head: str | None, *, merge_base: bool) -> Range:
    """The compared objects. With `merge_base`, as on GitHub, the base is where the head's history
    left it."""
    head = "HEAD" if head is None else head
    head_id = _commit(git, head)
    target = ""
    if base is None:
        base, target = _default_branch(git)
    base_id = object_id(git, f"{base}^{{commit}}")
    if base_id is None:
        tree = object_id(git, f"{base}^{{tree}}")
        return Range(tree or _unknown(git, base), head_id, target)
    if merge_base:
        base_id = _merge_base(git, base_id, head_id, base, head)
    return Range(base_id, head_id, target)


def _commit(git: Git, name: str) -> str:
    return object_id(git, f"{name}^{{commit}}") or _unknown(git, name)


def object_id(git: Git, name: str) -> str | None:
    """The full id of a revision, asked over a pipe so that no name can be taken for an option."""
    if "\n" in name or "\0" in name:
        return None
    line = os.fsencode(f"{name}\n")
    answer = git.run("cat-file", "--batch-check=%(objectname)", data=line)
    text = answer.decode("ascii", "replace").strip()
    is_id = text.isalnum() and len(text) >= 40
    return text if is_id else None


def _unknown(git: Git, name: str) -> NoReturn:
    """Raise the error that says why there is no revision `name`."""
    refs = _refs(git)
    if not refs:
        raise UserError("no-commits")
    if _is_shallow(git):
        raise UserError("shallow-revision", rev=name)
    command = _fetch_command(git, name)
    if command:
        raise UserError("unfetched-revision", rev=name, command=command)
    near = near_names(name, refs, 3)
    raise UserError("unknown-revision", rev=name, near=near)


def _fetch_command(git: Git, name: str) -> str:
    """What brings a branch of a remote that was never fetched, empty where `name` is none."""
    remote, slash, branch = name.removeprefix("refs/remotes/").partition("/")
    remotes = os.fsdecode(git.run("remote")).split()
    if not slash or remote not in (*remotes, "origin"):
        return ""
    return f"git fetch {remote} {branch}" if remote in remotes else f"git remote add {remote} URL"


def _merge_base(git: Git, base: str, head: str, base_name: str, head_name: str) -> str:
    found = git.attempt("merge-base", base, head)
    if found is not None:
        return found.decode("ascii").strip()
    key = "shallow-merge-base" if _is_shallow(git) else "no-merge-base"
    raise UserError(key, base=base_name, head=head_name)


def _is_shallow(git: Git) -> bool:
    return git.run("rev-parse", "--is-shallow-repository").strip() == b"true"


def _refs(git: Git) -> list[str]:
    listed = git.run("for-each-ref", "--format=%(refname:short)")
    return [os.fsdecode(name) for name in listed.splitlines()]


def _default_branch(git: Git) -> tuple[str, str]:
    """(revision, branch name) of the default branch: what the remote says, else a branch with a
    usual name."""
    remote = git.attempt("symbolic-ref", "--short", "refs/remotes/origin/HEAD")
    if remote is not None:
        name = os.fsdecode(remote.strip())
        if object_id(git, f"{name}^{{commit}}"):
            return name, name.removeprefix("origin/")
    for branch in _USUAL:
        for name in (f"refs/remotes/origin/{branch}", f"refs/heads/{branch}"):
            if object_id(git, f"{name}^{{commit}}"):
                return name, branch
    raise UserError("no-commits" if not _refs(git) else "no-default-branch")
