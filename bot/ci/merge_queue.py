"""GitHub's merge queue: it tries a pull request on a branch of its own, whose commit is not the
head of the pull request.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from bot.github.client import Json

EVENT = "merge_group"
_BRANCH = re.compile(r"gh-readonly-queue/(.{1,255})/pr-(\d{1,9})-[0-9a-f]{40,64}")


def queued_pull(branch: str) -> int | None:
    """The pull request that a branch of the queue tries; None of any other branch."""
    match = _BRANCH.fullmatch(branch)
    return int(match[2]) if match is not None else None


def queue_target(branch: str) -> str | None:
    """The branch that a branch of the queue leads to; None of any other branch."""
    match = _BRANCH.fullmatch(branch)
    return match[1] if match is not None else None


def runs_of_pull(queue_runs: Iterable[Json], number: int, own_runs: Iterable[Json]) -> list[Json]:
    """The last try of a pull request as it is now: the runs of the queue's newest commit for it.

    A try from before the head's own runs (`own_runs`) was of an earlier head.
    """
    begun = min((str(run["created_at"]) for run in own_runs), default="")
    tries = []
    for run in queue_runs:
        is_pulls = queued_pull(str(run["head_branch"] or "")) == number
        if is_pulls and begun and str(run["created_at"]) >= begun:
            tries.append(run)
    if not tries:
        return []
    newest = max(tries, key=lambda run: (str(run["created_at"]), int(run["id"])))
    return [run for run in tries if run["head_sha"] == newest["head_sha"]]
