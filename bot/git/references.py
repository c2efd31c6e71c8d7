"""Which pull requests and issues a change names, and which commits make the very same change."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from bot.git.command import Git
from bot.git.revisions import Range
from checks.core.change import PullRequest
from checks.summary.model import Commit, Reference

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
    """The commits of a log that has an id, parents and a subject a line, with a NUL between them."""
    return tuple([CommitLine(*line.split("\0", 2)) for line in log.split("\n") if line])


def references(
    git: Git,
    compared: Range,
    pull: PullRequest,
    said: str,
    subject: str,
    commits: Sequence[CommitLine],
) -> tuple[Reference, ...]:
    """Pull requests and issues that the title, the body and the commits name (`said`), and commits with the same
    patch; `subject` is that of the head, `commits` are all there are, the newest first."""
    text = "\n".join((pull.title, pull.body, said))
    own = _OWN.search(pull.title or subject)
    numbers = dict.fromkeys(int(n) for n in _NUMBER.findall(text))
    if own and not _PICKED.search(pull.title):
        numbers.pop(int(own[1]), None)
    wanted = list(numbers)[:_MOST_REFERENCES]
    known = _by_number(_before(compared.base, commits), wanted)
    picked = set(_picked(text))
    found = [
        Reference(n, "cherry-pick" if n in picked else "mentioned", known.get(n)) for n in wanted
    ]
    return (
        *found,
        *_same_patch(git, compared, pull.title or subject, commits, {c.id for c in known.values()}),
    )


def _picked(text: str) -> Iterable[int]:
    """Numbers on lines that speak of a cherry-pick."""
    for line in text.splitlines():
        if _PICKED.search(line):
            yield from (int(n) for n in _NUMBER.findall(line))


def _before(base: str, commits: Sequence[CommitLine]) -> list[CommitLine]:
    """Base and what led to it. A commit whose date is older than a parent's may be listed after it."""
    parents = {c.id: c.parents for c in commits}
    reached, open_ = set[str](), [base]
    while open_:
        name = open_.pop()
        if name not in reached:
            reached.add(name)
            open_ += parents.get(name, "").split()
    return [c for c in commits if c.id in reached]


def _by_number(commits: Sequence[CommitLine], numbers: Sequence[int]) -> dict[int, Commit]:
    """The commit of each pull request, told from the `(#123)` at the end of its subject, else the last that names it
    so."""
    found: dict[int, Commit] = {}
    for number in numbers:
        mark = f"(#{number})"
        for one in (commit(c.id, c.subject) for c in commits if mark in c.subject):
            if one.pull == number or number not in found:
                found[number] = one
    return found


def _same_patch(
    git: Git, compared: Range, title: str, commits: Iterable[CommitLine], known: set[str]
) -> Iterable[Reference]:
    """Commits of any branch under the same title, whose patch is the very same."""
    core = _core(title)
    words = sorted(re.findall(r"\w{4,}", core), key=lambda w: (-len(w), w))[:2]
    named = [
        c
        for c in commits
        if words and words[0] in (said := c.subject.lower()) and words[-1] in said
    ]
    others = [
        c for c in named if c.id not in known and c.id != compared.head and _core(c.subject) == core
    ]
    alike = [commit(c.id, c.subject) for c in others[:_MOST_ALIKE]]
    own = _patch_id(git, compared.base, compared.head) if alike else ""
    for one in alike if own else ():
        if _patch_id(git, f"{one.id}^", one.id) == own:
            yield Reference(one.pull, "same-patch", one)


def _core(title: str) -> str:
    """A title without tags and numbers: `[Cherry-Pick][XPU] Fix it (#1) (#2)` is `fix it`."""
    return " ".join(_AROUND.sub(" ", title).lower().split())


def _patch_id(git: Git, base: str, head: str) -> str:
    diff = git.attempt("diff-tree", "-p", base, head)
    return git.run("patch-id", "--stable", data=diff).decode("ascii").split(" ")[0] if diff else ""
