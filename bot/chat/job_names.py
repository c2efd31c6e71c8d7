"""Which job of a commit a person means: by its id, its name, its workflow, a short name that the
repository has for it, or a part of its name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from bot.chat.commit_jobs import CommitJob
from bot.chat.context import Refusal
from checks.core.near_names import near_names

# GitHub writes the job of a reusable workflow as `caller / job`.
_PART_OF_NAME = " / "
_SEPARATORS = re.compile(r"[\s_./-]+")
_MOST_NEAR = 3
_SHORTEST_PART = 3
Aliases = Mapping[str, Sequence[str]]


def find_jobs(
    jobs: Sequence[CommitJob], name: str, read_aliases: Callable[[], Aliases]
) -> list[CommitJob]:
    """What `name` means: one job, or the failed jobs of the one workflow that has this name.

    The exact name wins over one in another case, that over a short name of the repository, and that
    over a part. `read_aliases` is asked only where no name fits. Raises `Refusal` where `name` is
    nothing, or more than one job.
    """
    found = by_full_name(jobs, name)
    if not found:
        found = _by_alias(jobs, name, read_aliases())
    if not found:
        found = _by_part(jobs, name)
    if not found:
        names = list(dict.fromkeys(job.job.name for job in jobs))
        near = near_names(name, names, _MOST_NEAR)
        raise Refusal("unknown-job", wanted=name, near=near, some=names[:5])
    return found


def by_full_name(jobs: Sequence[CommitJob], name: str) -> list[CommitJob]:
    """What has this id or name, or is of the workflow with this name. Raises `Refusal` where those
    are several jobs."""
    folded = _fold(name)
    tests: tuple[Callable[[CommitJob], bool], ...] = (
        lambda job: job.job.id == name,
        lambda job: job.full_name == name,
        lambda job: job.job.name == name,
        lambda job: folded in (_fold(job.full_name), _fold(job.job.name)),
        lambda job: folded == _fold(job.job.name.rsplit(_PART_OF_NAME)[-1]),
    )
    for has_name in tests:
        found = [job for job in jobs if has_name(job)]
        if found:
            return _require_one(found, name)
    of_workflow = [job for job in jobs if job.job.workflow and folded == _fold(job.job.workflow)]
    return [job for job in of_workflow if job.failed] or of_workflow[:1]


def _by_alias(jobs: Sequence[CommitJob], name: str, aliases: Aliases) -> list[CommitJob]:
    folded = _fold(name)
    for alias, meanings in aliases.items():
        if _fold(alias) != folded:
            continue
        for meaning in meanings:
            found = by_full_name(jobs, meaning) or _by_part(jobs, meaning)
            if found:
                return found
    return []


def _by_part(jobs: Sequence[CommitJob], name: str) -> list[CommitJob]:
    folded = _fold(name)
    if len(folded) < _SHORTEST_PART:
        return []
    found = [job for job in jobs if folded in _fold(job.full_name)]
    return _require_one(found, name) if found else []


def _require_one(found: list[CommitJob], name: str) -> list[CommitJob]:
    full_names = sorted({job.full_name for job in found})
    if len(full_names) > 1:
        raise Refusal("which-job", wanted=name, names=full_names)
    return found[:1]


def _fold(name: str) -> str:
    """The name without case, and with every separator the same."""
    return " ".join(_words(name))


def _words(name: str) -> Iterator[str]:
    for word in _SEPARATORS.split(name.casefold()):
        if word:
            yield word
