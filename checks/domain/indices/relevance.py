"""What of a change has to do with an index: functions that name it, the ops they belong to, tests
that set it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from checks.core.change import ChangeSet, FileChange
from checks.core.config import Config
from checks.core.finding import Side
from checks.core.words import as_bytes, contains_word, word_regex
from checks.domain.indices.op_index import OpIndex
from checks.eval.symbolic.run import IndexNames
from checks.lang.source import language

# How many files a kernel may be away from the op that runs it: kernel, launcher, wrapper.
_MOST_STEPS = 3


@dataclass
class TouchedFunctions:
    """Changed functions that name an index: path to qualified names, by language and kind."""

    cpp: dict[str, set[str]] = field(default_factory=dict)
    product: dict[str, set[str]] = field(default_factory=dict)
    tests: dict[str, set[str]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.cpp or self.product or self.tests)


def touched_functions(change: ChangeSet, config: Config, watch: IndexNames) -> TouchedFunctions:
    """The changed functions that have an index as a word, on either side."""
    words = [as_bytes(name) for name in watch.names]
    result = TouchedFunctions()
    for file in change.files:
        kind = language(file.path)
        if not kind or file.mode != "file":
            continue
        names = set(_touched_functions(change, file, words))
        if not names:
            continue
        if kind == "cpp":
            result.cpp[file.path] = names
        elif config.is_test(file.path):
            result.tests[file.path] = names
        else:
            result.product[file.path] = names
    return result


def _touched_functions(change: ChangeSet, file: FileChange, words: list[bytes]) -> Iterator[str]:
    """The qualified names of the functions with a changed line and one of `words`."""
    sides = (
        (Side.HEAD, file.head_path, file.head_lines()),
        (Side.BASE, file.base_path, file.base_lines()),
    )
    for side, path, changed_lines in sides:
        if path is None or not _holds(change.tree(side).read(path) or b"", words):
            continue
        unit = change.unit(path, side)
        if unit is None:
            continue
        for function in unit.functions_on(changed_lines):
            text = unit.text_of(function)
            if _holds(as_bytes(text), words):
                yield function.qualname


def _holds(data: bytes, words: list[bytes]) -> bool:
    return any(contains_word(data, word) for word in words)


def ops_of(library: OpIndex, path: str, names: set[str]) -> set[str]:
    """The ops that run one of the functions `names` of `path`: its own, or those whose code
    mentions them."""
    own = _ops_registered_in(path, library)
    if own:
        return own
    ops: set[str] = set()
    seen = {path}
    wanted = {name.rsplit("::", 1)[-1] for name in names}
    for _ in range(_MOST_STEPS):
        callers: set[str] = set()
        for other in library.holding("cpp", *sorted(wanted)):
            if other in seen or other.endswith(".h"):
                continue
            seen.add(other)
            registered = _ops_registered_in(other, library)
            if registered:
                ops |= registered
            else:
                callers.update(_functions_mentioning(wanted, other, library))
        wanted = callers
    return ops


def _ops_registered_in(path: str, library: OpIndex) -> set[str]:
    return {op for op, paths in library.ops.items() if path in paths}


def _functions_mentioning(names: set[str], path: str, library: OpIndex) -> Iterator[str]:
    """The functions of a C++ file in which one of `names` stands."""
    unit = library.unit(path)
    if unit is None:
        return
    mentions = [re.compile(rf"{word_regex(name)}\b") for name in names]
    for function in unit.functions:
        text = unit.text_of(function)
        if any(mention.search(text) for mention in mentions):
            yield function.name
