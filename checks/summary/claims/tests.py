"""Which test cases came and went: told from the lines that define them, so that no test file is parsed for it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from checks.core.change import ChangeSet, FileChange
from checks.core.config import Config
from checks.core.finding import Location, Message, Side
from checks.lang.source import language
from checks.summary.model import Claim

_CASE = re.compile(r"^\s*(?:async )?def (test_\w+)\(")
_MOST_NAMES = 6
_LEAST_NAME = 8


def cases(change: ChangeSet, config: Config, told: set[str]) -> Iterator[Claim]:
    """The test cases that each test file gained, and those that it lost. They belong to the longest of the names that
    other sentences are about (`told`) in their own names, or in that of their file."""
    for file in change.files:
        if file.mode == "file" and config.is_test(file.path) and language(file.path) == "python":
            before, now = _cases(file, change, Side.BASE), _cases(file, change, Side.HEAD)
            came = {n: i for n, i in now.items() if n not in before}
            went = {n: i for n, i in before.items() if n not in now}
            if came:
                yield Claim(
                    Message("tests-added", _args(file.path, came)),
                    *_where(file.path, Side.HEAD, came, told),
                )
            if went:
                yield Claim(
                    Message("tests-removed", _args(file.path, went)),
                    *_where(file.path, Side.BASE, went, told),
                )


def _cases(file: FileChange, change: ChangeSet, side: Side) -> dict[str, int]:
    """The cases of a file with their lines."""
    path = file.base_path if side is Side.BASE else file.head_path
    data = change.tree(side).read(path) if path else None
    lines = data.decode("utf-8", "replace").split("\n") if data else []
    return {found[1]: n for n, line in enumerate(lines, 1) if (found := _CASE.match(line))}


def _args(path: str, lines: dict[str, int]) -> dict[str, Any]:
    names = list(lines)
    return {
        "path": path,
        "count": len(names),
        "names": names[:_MOST_NAMES],
        "more": max(0, len(names) - _MOST_NAMES),
    }


def _where(
    path: str, side: Side, lines: dict[str, int], told: set[str]
) -> tuple[tuple[Location, ...], tuple[str, ...]]:
    stem = path.rsplit("/", 1)[-1].removesuffix(".py")
    names = " ".join((stem, *lines))
    about = [s for s in told if len(s) >= _LEAST_NAME and s in names]
    places = tuple(Location(path, n, side=side) for n in lines.values())
    return places, (max(about, key=lambda s: (len(s), s), default=stem),)
