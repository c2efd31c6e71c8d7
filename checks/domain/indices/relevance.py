"""What of a change has to do with an index: functions that name it, the ops they belong to, tests that set it."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

from checks.core.change import ChangeSet, FileChange
from checks.core.config import Config
from checks.core.finding import Side
from checks.core.tree import contains_word, word_regex
from checks.domain.indices.op_index import Library
from checks.eval.symbolic.interpret import Watch
from checks.lang.ir.source_file import Function
from checks.lang.source import language


@dataclass
class Touched:
    """Changed functions that name an index, by language and kind; `names` are function names of C++ code."""

    cpp: dict[str, set[str]] = field(default_factory=dict)
    product: dict[str, set[str]] = field(default_factory=dict)
    tests: dict[str, set[str]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.cpp or self.product or self.tests)


def touched(change: ChangeSet, config: Config, watch: Watch) -> Touched:
    """The changed functions that have an index as a word, on either side. Files without the word are not parsed."""
    words = [name.encode() for name in watch.names]
    found = Touched()
    for file in change.files:
        kind = language(file.path)
        if not kind or file.mode != "file" or not _holds(change, file, words):
            continue
        names = set(_functions(change, file, words))
        if not names:
            continue
        group = (
            found.cpp
            if kind == "cpp"
            else found.tests
            if config.is_test(file.path)
            else found.product
        )
        group[file.path] = names
    return found


def _holds(change: ChangeSet, file: FileChange, words: list[bytes]) -> bool:
    sides = ((change.head, file.head_path), (change.base, file.base_path))
    texts = [tree.read(path) or b"" for tree, path in sides if path is not None]
    return any(contains_word(text, word) for text in texts for word in words)


def _functions(change: ChangeSet, file: FileChange, words: list[bytes]) -> Iterator[str]:
    """Qualified names; for a change outside of every function (a registration), an empty name."""
    for side, path, lines in (
        (Side.HEAD, file.head_path, sorted(file.head_lines())),
        (Side.BASE, file.base_path, sorted(file.base_lines())),
    ):
        unit = change.unit(path, side) if path is not None and lines else None
        if unit is None:
            continue
        for function in unit.functions:
            if bisect_left(lines, function.start_line) < bisect_right(lines, function.end_line):
                text = unit.text(function.start_line, function.end_line).encode()
                if any(contains_word(text, word) for word in words):
                    yield function.qualname


def ops_of(library: Library, path: str, names: set[str]) -> set[str]:
    """The ops that run one of the functions `names` of `path`: its own, or those whose code mentions them."""
    here = {op for op, places in library.ops.items() if path in places}
    if here:
        return here
    found: set[str] = set()
    wave, seen = {n.rsplit("::", 1)[-1] for n in names}, {path}
    for _ in range(3):
        nearer: set[str] = set()
        for other in library.holding("cpp", *sorted(wave)) if wave else ():
            if other in seen or other.endswith(".h"):
                continue
            seen.add(other)
            ops = {op for op, places in library.ops.items() if other in places}
            found |= ops
            unit = None if ops else library.unit(other)
            nearer |= (
                {f.name for f in unit.functions if _mentions(f, wave, library)} if unit else set()
            )
        wave = nearer
    return found


def _mentions(function: Function, names: set[str], library: Library) -> bool:
    unit = library.unit(function.path)
    text = unit.text(function.start_line, function.end_line) if unit else ""
    return any(n in text and re.search(rf"{word_regex(n)}\b", text) for n in names)
