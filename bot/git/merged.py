"""The changes that were merged into a branch, as its first parents tell."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bot.git.command import Git
from checks.evaluation.trial import MergedChange

# How forges name a merged change in its commit; a squashed one has the number at the end.
_PULL = re.compile(r"\([#!]\d+\)|^Merge (?:pull|merge) request\b|^Merge branch ")
# Of so many commits for each wanted one the titles are read.
_READ_FOR_ONE = 10
_SHORTEST_HISTORY = 2


def merged_changes(
    git: Git, last: int, paths: Sequence[str] = (), until: str = ""
) -> list[MergedChange]:
    """The last changes that were merged into HEAD, the newest first.

    Where hardly any commit says which pull request it was, every commit of the branch counts. With
    `paths` only changes that touch them, with `until` (a day) only those before it.
    """
    options = ["--first-parent", "--format=%H%x00%P%x00%cs%x00%s", f"-{last * _READ_FOR_ONE}"]
    if until:
        options.append(f"--until={until}T00:00:00Z")
    log = git.run("log", *options, "HEAD", "--", *paths).decode("utf-8", "replace")
    commits = []
    for line in log.splitlines():
        head, parents, day, title = line.split("\0", 3)
        if parents:
            commits.append(MergedChange(parents.split(" ")[0], head, title, day))
    pulls = [commit for commit in commits if _PULL.search(commit.title)]
    are_named = len(pulls) * _SHORTEST_HISTORY >= len(commits)
    return (pulls if are_named else commits)[:last]


def commits_of(git: Git, change: MergedChange) -> set[str]:
    """The commits that the change brought: one where it was squashed."""
    listed = git.run("rev-list", f"{change.base}..{change.head}")
    return set(listed.decode("ascii").split())


def files_of(git: Git, change: MergedChange) -> list[str]:
    """The paths that the change wrote."""
    listed = git.run("diff-tree", "-r", "-z", "--name-only", change.base, change.head)
    return [path for path in listed.decode("utf-8", "surrogateescape").split("\0") if path]
