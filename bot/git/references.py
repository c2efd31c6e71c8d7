"""Which pull requests and issues a change names, and which commits make the very same change."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from bot.git.command import Git
from bot.git.revisions import Range
from checks.core.change import PullRequest
from checks.summary.model import Commit, PullReference

_NUMBER = re.compile(r"(?<![\w/&])(?:#|pull/|PR[- ]?#?)(\d{1,6})\b")
_OWN = re.compile(r"\(#(\d+)\)\s*$")
_PICKED = re.compile(r"cherry[- ]?pick", re.I)
_AROUND = re.compile(r"^(?:\s*\[[^\]]*\])+|\(#\d+\)")
_MOST_REFERENCES = 10
_MOST_ALIKE = 40


class CommitLine(NamedTuple):
    """A commit of the history; `parents` are the ids of its parents with blanks between them."""

    id: str
    parents: str
    subject: str


def commit(name: str, subject: str) -> Commit:
    """The commit, with the pull request that its subject ends with."""
    own = _OWN.search(subject)
    return Commit(name, subject, int(own[1]) if own else 0)


def parse_log(log: str) -> tuple[CommitLine, ...]:
    """The commits of a log that has an id, parents and a subject a line, with a NUL between
    them."""
    return tuple(CommitLine(*line.split("\0", 2)) for line in log.split("\n") if line)


def references(
    git: Git,
    compared: Range,
    pull: PullRequest,
    messages: str,
    subject: str,
    commits: Sequence[CommitLine],
) -> tuple[PullReference, ...]:
    """Pull requests and issues that the title, the body and the commits' `messages` name, and
    commits with the same patch.

    `subject` is that of the head, `commits` are all there are, the newest first.
    """
    text = "\n".join((pull.title, pull.body, messages))
    title = pull.title or subject
    numbers = _numbers_in(text, title, pull)[:_MOST_REFERENCES]
    merged = _by_number(_ancestors(compared.base, commits), numbers)
    picked = _picked_numbers(text)
    found = []
    for number in numbers:
        kind = "cherry-pick" if number in picked else "mentioned"
        found.append(PullReference(number, kind, merged.get(number)))
    known = {merged_commit.id for merged_commit in merged.values()}
    return (*found, *_same_patch(git, compared, title, commits, known))


def _numbers_in(text: str, title: str, pull: PullRequest) -> list[int]:
    """The numbers that are named, each once, without the pull request's own."""
    numbers = dict.fromkeys(int(number) for number in _NUMBER.findall(text))
    own = _OWN.search(title)
    # The number at the end of a cherry-pick's title is that of the original.
    if own and not _PICKED.search(pull.title):
        numbers.pop(int(own[1]), None)
    return list(numbers)


def _picked_numbers(text: str) -> set[int]:
    """Numbers on lines that speak of a cherry-pick."""
    numbers: set[int] = set()
    for line in text.splitlines():
        if _PICKED.search(line):
            numbers.update(int(number) for number in _NUMBER.findall(line))
    return numbers


def _ancestors(base: str, commits: Sequence[CommitLine]) -> list[CommitLine]:
    """Base and what led to it. A commit whose date is older than a parent's may be listed after
    it."""
    parents = {line.id: line.parents for line in commits}
    reached: set[str] = set()
    pending = [base]
    while pending:
        name = pending.pop()
        if name not in reached:
            reached.add(name)
            pending += parents.get(name, "").split()
    return [line for line in commits if line.id in reached]


def _by_number(commits: Sequence[CommitLine], numbers: Sequence[int]) -> dict[int, Commit]:
    """The commit of each pull request, told from the `(#123)` at the end of its subject, else the
    first listed that names it so elsewhere."""
    by_number: dict[int, Commit] = {}
    for number in numbers:
        mark = f"(#{number})"
        for line in commits:
            if mark not in line.subject:
                continue
            candidate = commit(line.id, line.subject)
            if candidate.pull == number or number not in by_number:
                by_number[number] = candidate
    return by_number


def _same_patch(
    git: Git, compared: Range, title: str, commits: Iterable[CommitLine], known: set[str]
) -> Iterator[PullReference]:
    """Commits of any branch under the same title, whose patch is the very same."""
    core = _core(title)
    # A title without a long word says too little.
    if not re.search(r"\w{4,}", core):
        return
    candidates = []
    for line in commits:
        if line.id in known or line.id == compared.head:
            continue
        if _core(line.subject) == core:
            candidates.append(commit(line.id, line.subject))
    if not candidates:
        return
    own = _patch_id(git, compared.base, compared.head)
    if not own:
        return
    for candidate in candidates[:_MOST_ALIKE]:
        if _patch_id(git, f"{candidate.id}^", candidate.id) == own:
            yield PullReference(candidate.pull, "same-patch", candidate)


def _core(title: str) -> str:
    """A title without tags and numbers: `[Cherry-Pick][XPU] Fix it (#1) (#2)` is `fix it`."""
    return " ".join(_AROUND.sub(" ", title).lower().split())


def _patch_id(git: Git, base: str, head: str) -> str:
    """The same for the same patch, whatever its place; empty where git makes no patch."""
    patch = git.attempt("diff-tree", "-p", base, head)
    if not patch:
        return ""
    return git.run("patch-id", "--stable", data=patch).decode("ascii").split(" ")[0]
