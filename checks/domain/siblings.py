"""Files and functions that are copies of one another for different hardware."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from checks.core.change import ChangeSet
from checks.core.config import Config, matches
from checks.core.finding import Side
from checks.core.words import name_parts
from checks.lang.ir.source_file import Function, SourceFile, group_by

_TOKEN = re.compile(r"[A-Za-z_]\w*|\d[\w.]*|\"[^\"\n]*\"|'[^'\n]*'|[^\s\w]")
_ALWAYS_HARDWARE = frozenset({"gpu", "cuda", "intel"})

GRAM = 5
LEAST_TOKENS = 80
LEAST_SHARED_GRAMS = 0.6
"""Identifier-abstracted 5-gram containment that confirms a pair; 99 of 100 unrelated kernels stay
below 0.7."""
_LEAST_LINES = 8

# The words of a name without those of hardware.
PlainName = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HardwareNames:
    """The words of a repository that name hardware."""

    hardware: frozenset[str]

    @classmethod
    def of(cls, config: Config) -> HardwareNames:
        words = set(_ALWAYS_HARDWARE)
        for hardware in config.hardware:
            for mark in (hardware.name, *hardware.marks):
                plain = mark.strip("_")
                # A mark of several words, or a folder, is no word of a name.
                if "_" not in plain and "/" not in plain:
                    words.add(plain.lower())
        return cls(frozenset(words))

    def plain(self, name: str) -> PlainName:
        """The words of `name` without those of hardware: `MetaxModelRunner` and `GPUModelRunner`
        are the same."""
        words = name_parts(name)
        return tuple(word for word in words if word not in self.hardware)

    def of_path(self, path: str) -> tuple[PlainName, ...]:
        """The words of every part of `path` without hardware; parts that only name hardware fall
        away."""
        plain = [self.plain(part) for part in PurePosixPath(path).with_suffix("").parts]
        return tuple(words for words in plain if words)


def sibling_files(path: str, change: ChangeSet, config: Config) -> list[str]:
    """The Python files that are `path`'s copies on other hardware: by the configured families, else
    by name."""
    if config.is_test(path) or path.endswith("__init__.py"):
        return []
    for family in config.family:
        if matches(path, family.files):
            paths = _paths_matching(family.files, change)
            return [other for other in paths if other != path and not config.is_test(other)]
    return _siblings_by_name(path, change, config)


def _paths_matching(globs: tuple[str, ...], change: ChangeSet) -> list[str]:
    """The head's paths that one of `globs` matches."""
    # Kept, because each changed file of a family asks and every path of the tree is matched.
    return change.memo(
        (_paths_matching, globs),
        lambda: [path for path in change.head.paths() if matches(path, globs)],
    )


def _siblings_by_name(path: str, change: ChangeSet, config: Config) -> list[str]:
    names = HardwareNames.of(config)
    # Kept, because each changed file asks and every path of the tree is split into words.
    by_name = change.memo(
        (_python_files_by_name, names), lambda: _python_files_by_name(change, names)
    )
    key = names.of_path(path)
    hardware = config.hardware_of(path)
    siblings = []
    for other in by_name.get(names.plain(PurePosixPath(path).stem), []):
        if other == path or names.of_path(other) != key:
            continue
        if config.hardware_of(other) != hardware and not config.is_test(other):
            siblings.append(other)
    return siblings


def _python_files_by_name(change: ChangeSet, names: HardwareNames) -> dict[PlainName, list[str]]:
    files = [path for path in change.head.paths() if path.endswith(".py")]
    return group_by(files, lambda path: names.plain(PurePosixPath(path).stem))


def counterparts(
    function: Function, unit: SourceFile, sibling: SourceFile, names: HardwareNames
) -> list[Function]:
    """The functions of `sibling` that do the same job: by name and class, else the one that reads
    the same.

    In its own file (`forward_cuda`, `forward_xpu`) only those of the same class.
    """
    owner = names.plain(function.owner)
    named = []
    for other in _functions_by_name(sibling, names).get(names.plain(function.name), []):
        if _is_special(other) == _is_special(function):
            named.append(other)
    if sibling is unit:
        return [f for f in named if f.name != function.name and f.owner == function.owner]
    same_class = [other for other in named if names.plain(other.owner) == owner]
    if named:
        return same_class or named
    similar = _most_similar(function, unit, sibling)
    return [similar] if similar is not None else []


def _most_similar(function: Function, unit: SourceFile, sibling: SourceFile) -> Function | None:
    """The function of `sibling` that has most of the text of `function`."""
    best: Function | None = None
    best_share = 0.0
    for other in sibling.functions:
        if not _has_similar_length(function, other):
            continue
        share = shared_grams(function, unit, other, sibling)
        if share >= LEAST_SHARED_GRAMS and share > best_share:
            best, best_share = other, share
    return best


def _functions_by_name(unit: SourceFile, names: HardwareNames) -> dict[PlainName, list[Function]]:
    """The functions of `unit` by their names without hardware."""
    # Kept, because each changed function of a file asks for the same siblings.
    return unit.memo(
        (_functions_by_name, names),
        lambda: group_by(unit.functions, lambda function: names.plain(function.name)),
    )


def _is_special(function: Function) -> bool:
    return function.name.startswith("__")


def _has_similar_length(function: Function, other: Function) -> bool:
    """Whether two functions are of comparable length, so that comparing their text is worth it."""
    size = function.end_line - function.start_line
    other_size = other.end_line - other.start_line
    if _is_special(other) or other_size < _LEAST_LINES:
        return False
    return 0.4 < (size + 1) / (other_size + 1) < 2.5


def shared_grams(
    function: Function, unit: SourceFile, other: Function, other_unit: SourceFile
) -> float:
    """The share of the shorter one's 5-grams, names abstracted, that stand in the longer one; 0
    below 80 tokens."""
    first = _grams_of(function, unit)
    second = _grams_of(other, other_unit)
    if not first or not second:
        return 0.0
    shorter, longer = sorted((first, second), key=len)
    return len(shorter & longer) / len(shorter)


def _grams_of(function: Function, unit: SourceFile) -> frozenset[tuple[str, ...]]:
    # Kept, because one function is compared with every function of several files.
    key = (_grams_of, function.start_line, function.end_line)
    return unit.memo(key, lambda: _grams(unit.text_of(function)))


def _grams(text: str) -> frozenset[tuple[str, ...]]:
    """The 5-grams of a function's source, names abstracted; none where it has less than 80
    tokens."""
    without_comments = re.sub(r"#.*", "", text)
    tokens = [_abstract(token) for token in _TOKEN.findall(without_comments)]
    if len(tokens) < LEAST_TOKENS:
        return frozenset()
    starts = range(len(tokens) - GRAM + 1)
    return frozenset(tuple(tokens[start : start + GRAM]) for start in starts)


def _abstract(token: str) -> str:
    """One token for all names, one for all numbers, one for all strings."""
    first = token[0]
    if first.isalpha() or first == "_":
        return token if keyword.iskeyword(token) else "x"
    if first.isdigit():
        return "0"
    return '"' if first in "\"'" else token


def changed_functions_with_siblings(
    change: ChangeSet, config: Config
) -> Iterator[tuple[Function, Function, list[str]]]:
    """(base, head, sibling files) of every altered Python function; its own file is one where it
    has a copy there."""
    siblings: dict[str, list[str]] = {}
    names = HardwareNames.of(config)
    for old, new in change.changed_functions():
        if old is None or new is None or not new.path.endswith(".py") or config.is_test(new.path):
            continue
        if new.path not in siblings:
            siblings[new.path] = sibling_files(new.path, change, config)
        files = list(siblings[new.path])
        if _has_copy_in_own_file(new, change, names):
            files.append(new.path)
        yield old, new, files


def _has_copy_in_own_file(function: Function, change: ChangeSet, names: HardwareNames) -> bool:
    unit = change.unit(function.path)
    if unit is None or not names.plain(function.name):
        return False
    return bool(counterparts(function, unit, unit, names))


def base_unit(path: str, change: ChangeSet) -> SourceFile | None:
    """What the head file `path` was in the base."""
    file = change.changed(path)
    base_path = file.base_path if file is not None and file.base_path else path
    return change.unit(base_path, Side.BASE)
