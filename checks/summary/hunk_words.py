"""Every hunk of a change with what ties it to a claim: its lines, its words, its function."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from checks.core.change import ChangeSet, FileChange, Hunk
from checks.core.finding import Location, Side
from checks.core.tree import Tree
from checks.summary.changes.sides import added_lines, in_base, in_head, removed_lines
from checks.summary.model import Claim

_WORD = re.compile(r"[A-Za-z_]\w{3,}")


@dataclass(frozen=True)
class HunkWords:
    """A hunk, how often each word stands on its lines, and the names of the function around it."""

    path: str
    base_path: str
    hunk: Hunk
    words: Counter[str]
    functions: frozenset[str]

    def holds(self, place: Location) -> bool:
        """Whether the place is one of the hunk's lines."""
        if place.side is Side.HEAD:
            return place.path == self.path and in_head(place.start_line, self.hunk)
        return place.path == self.base_path and in_base(place.start_line, self.hunk)

    def count_places(self, claim: Claim) -> int:
        """How many places of the claim are lines of the hunk."""
        return sum(1 for place in claim.places if self.holds(place))


def read_hunks(change: ChangeSet) -> list[HunkWords]:
    """The hunks of all files in order, of files without a parser too."""
    hunks = []
    for file in change.files:
        base = _lines(change.base, file.base_path, file)
        head = _lines(change.head, file.head_path, file)
        for hunk in file.hunks:
            words: Counter[str] = Counter()
            for line in (*removed_lines(hunk, base), *added_lines(hunk, head)):
                words.update(_WORD.findall(line))
            functions = _function_names(change, file.head_path, hunk)
            hunks.append(HunkWords(file.path, file.base_path or "", hunk, words, functions))
    return hunks


def _lines(tree: Tree, path: str | None, file: FileChange) -> tuple[str, ...]:
    data = tree.read(path) if path and file.mode == "file" else None
    if not data:
        return ()
    return tuple(data.decode("utf-8", "replace").split("\n"))


def _function_names(change: ChangeSet, path: str | None, hunk: Hunk) -> frozenset[str]:
    unit = change.unit(path) if path else None
    if unit is None:
        return frozenset()
    function = unit.function_at(max(1, hunk.head_start))
    if function is None:
        return frozenset()
    return frozenset((function.name, function.qualname))
