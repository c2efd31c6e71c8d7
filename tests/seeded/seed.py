"""A bug that was put into a change, and what is needed to say whether a review saw it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet, FileChange, Hunk
from checks.core.tree import OverlayTree

SPECULATIVE = re.compile(r"specul|spec_dec|mtp|ngram|draft|eagle|medusa|reject|sampl", re.I)
_WORD = re.compile(r"[A-Za-z_]\w{2,}")
_COMMENT = re.compile(r"\s*(#|//|/?\*)")


@dataclass(frozen=True, slots=True)
class Seed:
    """A change with the bug in it.

    It stands at `line` of `path`; `whole` is the change as it was made, where the bug is a part
    that is left out of it. `words` are the names that the bug is about.
    """

    operator: str
    change: ChangeSet
    path: str
    line: int
    detail: str
    words: frozenset[str]
    whole: ChangeSet | None = None


def words_in(lines: list[str]) -> set[str]:
    """The names in lines of code, without those of comments."""
    words: set[str] = set()
    for line in lines:
        if not _COMMENT.match(line):
            words.update(_WORD.findall(line))
    return words


def lines_of(data: bytes | None) -> list[str]:
    """The lines of a file; none of one that is not there."""
    return (data or b"").decode("utf-8", "surrogateescape").splitlines()


def with_file(change: ChangeSet, path: str, text: str) -> ChangeSet:
    """The change with `path` as `text` in its head."""
    data = text.encode("utf-8", "surrogateescape")
    old = change.changed(path)
    base_path = old.base_path if old is not None else path
    before = change.base.read(base_path) if base_path else None
    hunks = tuple(_hunks(lines_of(before), lines_of(data)))
    files = [file for file in change.files if file.path != path]
    if hunks:
        status = "A" if before is None else "M"
        files.append(FileChange(status, base_path, path, hunks))
    files.sort(key=lambda file: file.path)
    return ChangeSet(change.base, OverlayTree(change.head, {path: data}), tuple(files))


def _hunks(before: list[str], after: list[str]) -> Iterator[Hunk]:
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for tag, base, base_end, head, head_end in matcher.get_opcodes():
        if tag != "equal":
            # git counts a side without lines from the line before it.
            base_start = base + 1 if base_end > base else base
            head_start = head + 1 if head_end > head else head
            yield Hunk(base_start, base_end - base, head_start, head_end - head)
