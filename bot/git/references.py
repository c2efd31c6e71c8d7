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
_BRACKETED = re.compile(r"\(#(\d+)\)")
_CLOSES = re.compile(r"\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?\s+#(\d{1,6})\b", re.I)
_PICKED = re.compile(r"cherry[- ]?pick", re.I)
_AROUND = re.compile(r"^(?:\s*\[[^\]]*\])+|\(#\d+\)")
_PICTURE = re.compile(r":\w+:")
_MOST_REFERENCES = 10
_TEMPLATES = (
    ".github/pull_request_template.md",
    ".github/PULL_REQUEST_TEMPLATE.md",
    "pull_request_template.md",
    "PULL_REQUEST_TEMPLATE.md",
    "docs/pull_request_template.md",
)
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
    text = "\n".join((pull.title, _own_words(git, compared.base, pull.body), messages))
    title = pull.title or subject
    numbers = _numbers_in(text, pull.title, subject)[:_MOST_REFERENCES]
    merged = _by_number(_ancestors(compared.base, commits), numbers)
    picked = _picked_numbers(text)
    closed = {int(number) for number in _CLOSES.findall(text)}
    found = []
    for number in numbers:
        kind = "closes" if number in closed else "mentioned"
        if number in picked:
            kind = "cherry-pick"
        found.append(PullReference(number, kind, merged.get(number)))
    known = {merged_commit.id for merged_commit in merged.values()}
    return (*found, *_same_patch(git, compared, title, commits, known))


def _numbers_in(text: str, title: str, subject: str) -> list[int]:
    """The numbers that are named, each once, without the pull request's own."""
    numbers = dict.fromkeys(int(number) for number in _NUMBER.findall(text))
    numbers.pop(_own_number(title, subject), None)
    return list(numbers)


def _own_words(git: Git, base: str, body: str) -> str:
    """The description without the lines of the repository's template: the numbers in those are
    examples."""
    template: set[str] = set()
    for path in _TEMPLATES:
        text = git.attempt("cat-file", "blob", f"{base}:{path}")
        if text is not None:
            template.update(_words_of(line) for line in text.decode("utf-8", "replace").split("\n"))
    lines = [line for line in body.split("\n") if _words_of(line) not in template]
    return "\n".join(lines)


def _words_of(line: str) -> str:
    """The words of a line, without marks of Markdown and pictures (`:bulb:`) among them."""
    return " ".join(re.findall(r"\w+", _PICTURE.sub(" ", line)))


def _own_number(title: str, subject: str) -> int:
    """The pull request's own number, 0 where it is not known.

    A merge by squashing puts it at the end of the commit's subject, behind the title: of
    `Unify branches.(#6947) (#7180)` it is 7180, and the title ends with another's number. A title
    on GitHub never has the own one.
    """
    in_subject = [int(number) for number in _BRACKETED.findall(subject)]
    if title and title != subject:
        of_others = [int(number) for number in _BRACKETED.findall(title)]
        in_subject = [number for number in in_subject if number not in of_others]
    elif _PICKED.search(subject) and len(in_subject) == 1:
        # Not merged yet: what a cherry-pick ends with is the original.
        return 0
    return in_subject[-1] if in_subject and _OWN.search(subject) else 0


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
