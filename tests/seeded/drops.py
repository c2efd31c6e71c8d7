"""Incomplete changes: a real commit without one of its hunks, which the others rest on."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet, FileChange, Hunk
from checks.core.config import Config
from checks.evaluation.fixes import product_files
from tests.seeded.seed import Seed, lines_of, with_file, words_in

_BINDING = re.compile(
    r"PD_BUILD|\bm\.def|TORCH_LIBRARY|\.(?:Inputs|Outputs|Attrs)\(|ops\.(?:def|impl)"
)
_IMPORT = re.compile(r"\s*(?:from\s+\S+\s+import|import\s|#include)")
_DEFINITION = re.compile(r"^\s*(?:async\s+)?def\s+\w+|^\s*class\s+\w+")


@dataclass(frozen=True, slots=True)
class _Part:
    """A hunk with the lines that it takes out and puts in."""

    file: FileChange
    hunk: Hunk
    removed: tuple[str, ...]
    added: tuple[str, ...]

    @property
    def altered(self) -> set[str]:
        """The names that it brings or takes away."""
        return words_in(list(self.removed)) ^ words_in(list(self.added))


def incomplete(change: ChangeSet, config: Config, chance: random.Random) -> Seed | None:
    """The change without one hunk that shares an altered name with another; None where it has
    none."""
    parts = list(_parts(change, config))
    chance.shuffle(parts)
    for part in parts:
        others = set().union(*(other.altered for other in parts if other is not part))
        shared = part.altered & others
        if shared and part.file.head_path:
            return _without(part, shared, change)
    return None


def _parts(change: ChangeSet, config: Config) -> Iterator[_Part]:
    for file in change.files:
        if file.status != "M" or file.binary or not product_files([file.path], config):
            continue
        before = lines_of(change.base.read(file.base_path or ""))
        after = lines_of(change.head.read(file.head_path or ""))
        for hunk in file.hunks:
            removed = before[hunk.base_start - 1 :][: hunk.base_len] if hunk.base_len else []
            added = after[hunk.head_start - 1 :][: hunk.head_len] if hunk.head_len else []
            yield _Part(file, hunk, tuple(removed), tuple(added))


def _without(part: _Part, shared: set[str], change: ChangeSet) -> Seed:
    hunk = part.hunk
    after = lines_of(change.head.read(part.file.path))
    # A side without lines is counted from the line before it.
    start = hunk.head_start - 1 if hunk.head_len else hunk.head_start
    lines = [*after[:start], *part.removed, *after[start + hunk.head_len :]]
    seeded = with_file(change, part.file.path, "\n".join(lines) + "\n")
    detail = "; ".join(line.strip() for line in (part.added or part.removed)[:4])
    kind = f"dropped-{_kind(part, shared)}"
    return Seed(kind, seeded, part.file.path, start + 1, detail, frozenset(shared), change)


def _kind(part: _Part, shared: set[str]) -> str:
    """What the hunk was in the change."""
    lines = [line for line in (*part.removed, *part.added) if line.strip()]
    text = "\n".join(lines)
    names = "|".join(sorted(map(re.escape, shared)))
    if _BINDING.search(text):
        return "binding"
    if _IMPORT.match(lines[0] if lines else ""):
        return "import"
    if re.search(rf"(?:\.|\[[\"'])(?:{names})(?:[\"']\])?\s*(?::[^=\n]+)?=(?!=)", text):
        return "state"
    if any(_DEFINITION.match(line) for line in lines):
        return "definition"
    if re.search(rf"\b(?:{names})\s*[(=]", text):
        return "call"
    return "other"
