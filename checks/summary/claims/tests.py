"""Which test cases came and went, told from the lines that define them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from checks.core.change import ChangeSet, FileChange
from checks.core.config import Config
from checks.core.finding import Location, Message, Side
from checks.lang.source import language
from checks.summary.claims.wording import first_names
from checks.summary.model import Claim

_CASE = re.compile(r"^\s*(?:async )?def (test_\w+)\(")
_MOST_NAMES = 6
_SHORTEST_SYMBOL = 8


def describe_test_cases(change: ChangeSet, config: Config, symbols: set[str]) -> Iterator[Claim]:
    """The test cases that each test file gained, and those that it lost.

    They belong to the longest of `symbols`, the names that other claims are about, that stands in
    the name of a case or of the file.
    """
    for file in change.files:
        if file.mode != "file" or not config.is_test(file.path):
            continue
        if language(file.path) != "python":
            continue
        before = _lines_of_cases(file, change, Side.BASE)
        now = _lines_of_cases(file, change, Side.HEAD)
        added = {name: line for name, line in now.items() if name not in before}
        removed = {name: line for name, line in before.items() if name not in now}
        if added:
            message = Message("tests-added", _args(file.path, added))
            places = tuple(Location(file.path, line) for line in added.values())
            yield Claim(message, places, (_subject(file.path, added, symbols),))
        if removed:
            message = Message("tests-removed", _args(file.path, removed))
            places = tuple(Location(file.path, line, side=Side.BASE) for line in removed.values())
            yield Claim(message, places, (_subject(file.path, removed, symbols),))


def _lines_of_cases(file: FileChange, change: ChangeSet, side: Side) -> dict[str, int]:
    """The test cases of a file with their lines."""
    path = file.base_path if side is Side.BASE else file.head_path
    data = change.tree(side).read(path) if path else None
    if not data:
        return {}
    lines: dict[str, int] = {}
    for number, line in enumerate(data.decode("utf-8", "replace").split("\n"), 1):
        match = _CASE.match(line)
        if match:
            lines[match[1]] = number
    return lines


def _args(path: str, cases: dict[str, int]) -> dict[str, Any]:
    names = list(cases)
    return {
        "path": path,
        "count": len(names),
        **first_names(names, _MOST_NAMES),
    }


def _subject(path: str, cases: dict[str, int], symbols: set[str]) -> str:
    """The longest symbol in the names of the cases or of their file, else the name of the file."""
    stem = path.rsplit("/", 1)[-1].removesuffix(".py")
    text = " ".join((stem, *cases))
    tested = [s for s in symbols if len(s) >= _SHORTEST_SYMBOL and s in text]
    return max(tested, key=lambda symbol: (len(symbol), symbol), default=stem)
