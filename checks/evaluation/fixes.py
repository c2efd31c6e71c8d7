"""What a bug fix tells of the change that brought the bug.

The way is that of SZZ (Śliwerski, Zimmermann, Zeller 2005): the lines that a fix replaced are
followed back to the commit that wrote them. Here is what is decided on the way; git is asked by
`bot.git.fixes`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from checks.core.change import FileChange, Hunk
from checks.core.config import Config
from checks.core.titles import is_fix
from checks.lang.ir.source_file import SourceFile
from checks.lang.source import language

# A fix that changes more says little of where the bug was.
MOST_FILES = 4
MOST_LINES = 40
# A commit that changes more is a release, a merge of two trees, or a move.
MOST_FILES_OF_A_CHANGE = 60
# How far from lines that were only added the code may be that they stand beside.
_BESIDE = 3

_NO_BUG = re.compile(
    r"\brevert\b|\b(?:docs?|documentation|readme|tests?|unit ?tests?|ut|ci|cicd|pre-commit|mypy"
    r"|type hints?|log|logs|logging|dockerfile|benchmarks?)\b",
    re.I,
)
_NO_PRODUCT = re.compile(
    r"(?:^|/)(?:tests?|testing|docs?|examples?|benchmarks?|tools?|scripts?|\.[^/]+|third_party"
    r"|3rdparty)/|(?:^|/)(?:test_[^/]*|setup|conftest)\.py$|_test\.\w+$"
)


@dataclass(frozen=True, slots=True)
class FixedPlace:
    """A line that the later fix replaced, as it stood when it was written.

    `function` is the innermost one that holds it, from `first` to `last`; empty outside functions.
    """

    path: str
    line: int
    function: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class FixPair:
    """A fix, and the change `base`..`head` that wrote most of the lines that it replaced.

    With `replaced` false the fix only added lines, and `places` are the code beside them.
    """

    repository: str
    fix: str
    date: str
    title: str
    base: str
    head: str
    head_title: str
    replaced: bool
    places: tuple[FixedPlace, ...]


@dataclass(frozen=True, slots=True)
class LineOrigin:
    """Where a line of today was written: `line` and `path` as of that commit."""

    commit: str
    path: str
    line: int


def is_bug_fix(title: str) -> bool:
    """Whether the title is that of a fix of the product itself."""
    return is_fix(title) and not _NO_BUG.search(title)


def product_files(paths: Iterable[str], config: Config) -> list[str]:
    """The sources of the product: no tests, tools or copies of other projects."""
    return [
        path
        for path in paths
        if language(path) and not config.is_test(path) and not _NO_PRODUCT.search(path)
    ]


def replaced_lines(file: FileChange, base: Collection[int]) -> list[int]:
    """The lines of code that the fix removed from `file`; `base` are its lines of code before."""
    return sorted(file.base_lines().intersection(base))


def lines_beside(file: FileChange, base: Collection[int], head: Collection[int]) -> list[int]:
    """The code before and after what the fix only added; `base` and `head` are the lines of code
    on both sides."""
    beside: set[int] = set()
    for hunk in file.hunks:
        if not _adds_code(hunk, head):
            continue
        before = range(hunk.base_start - 1, hunk.base_start - 1 - _BESIDE, -1)
        after = range(hunk.base_start, hunk.base_start + _BESIDE)
        for side in (before, after):
            nearest = [line for line in side if line in base][:1]
            beside.update(nearest)
    return sorted(beside)


def _adds_code(hunk: Hunk, head: Collection[int]) -> bool:
    added = range(hunk.head_start, hunk.head_start + hunk.head_len)
    return not hunk.base_len and any(line in head for line in added)


def count_code(file: FileChange, base: Collection[int], head: Collection[int]) -> int:
    """How many lines of code the fix removed from `file` and added to it."""
    removed = file.base_lines().intersection(base)
    added = file.head_lines().intersection(head)
    return len(removed) + len(added)


def main_commit(origins: Sequence[LineOrigin]) -> str:
    """The commit that wrote most of the lines; the first named of those that wrote as many."""
    counts = Counter(origin.commit for origin in origins)
    return counts.most_common(1)[0][0]


def place_of(origin: LineOrigin, unit: SourceFile | None) -> FixedPlace:
    """The line with the function that held it; `unit` is the file as of the commit that wrote
    it."""
    function = unit.function_at(origin.line) if unit is not None else None
    if function is None:
        return FixedPlace(origin.path, origin.line, "", 0, 0)
    return FixedPlace(
        origin.path, origin.line, function.qualname, function.start_line, function.end_line
    )


def parse_pair(raw: Mapping[str, Any]) -> FixPair:
    """The pair of one line of JSON. Raises KeyError, TypeError or ValueError for what is none."""
    places = [_parse_place(place) for place in raw["places"]]
    return FixPair(
        repository=str(raw["repository"]),
        fix=str(raw["fix"]),
        date=str(raw["date"]),
        title=str(raw["title"]),
        base=str(raw["base"]),
        head=str(raw["head"]),
        head_title=str(raw["head_title"]),
        replaced=bool(raw["replaced"]),
        places=tuple(places),
    )


def _parse_place(raw: Mapping[str, Any]) -> FixedPlace:
    return FixedPlace(
        str(raw["path"]),
        int(raw["line"]),
        str(raw["function"]),
        int(raw["first"]),
        int(raw["last"]),
    )
