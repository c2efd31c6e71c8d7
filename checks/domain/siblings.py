"""Files and functions that are copies of one another for different hardware."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import PurePosixPath

from checks.core.change import ChangeSet
from checks.core.config import Config, matches
from checks.core.finding import Side
from checks.lang.ir.source_file import Function, SourceFile, group_by

_TOKEN = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_CODE = re.compile(r"[A-Za-z_]\w*|\d[\w.]*|\"[^\"\n]*\"|'[^'\n]*'|[^\s\w]")
_ALWAYS = frozenset({"gpu", "cuda", "intel"})
GRAM = 5
LEAST_TOKENS = 80
LEAST_CONTAINED = 0.6
"""Identifier-abstracted 5-gram containment that confirms a pair; 99 of 100 unrelated kernels stay below 0.7."""


@dataclass(frozen=True, slots=True)
class Names:
    """The words of a repository that name hardware."""

    hardware: frozenset[str]

    @classmethod
    def of(cls, config: Config) -> Names:
        marks = {m.strip("_") for h in config.hardware for m in (h.name, *h.marks)}
        return cls(_ALWAYS | {m.lower() for m in marks if "_" not in m and "/" not in m})

    def plain(self, name: str) -> tuple[str, ...]:
        """The words of `name` without those of hardware: `MetaxModelRunner` and `GPUModelRunner` are the same."""
        return _plain(name, self.hardware)

    def of_path(self, path: str) -> tuple[tuple[str, ...], ...]:
        """The words of every part of `path` without hardware; parts that only name hardware fall away."""
        return tuple(
            words
            for part in PurePosixPath(path).with_suffix("").parts
            if (words := self.plain(part))
        )


@cache
def _plain(name: str, hardware: frozenset[str]) -> tuple[str, ...]:
    return tuple(w for w in (t.lower() for t in _TOKEN.findall(name)) if w not in hardware)


def sibling_files(path: str, change: ChangeSet, config: Config) -> list[str]:
    """The Python files that are `path`'s copies on other hardware: by the configured families, else by name."""
    if config.is_test(path) or path.endswith("__init__.py"):
        return []
    family = next((f.files for f in config.family if matches(path, f.files)), None)
    if family is not None:
        paths = change.memo(
            (sibling_files, family), lambda: [p for p in change.head.paths() if matches(p, family)]
        )
        return [p for p in paths if p != path and not config.is_test(p)]
    names = Names.of(config)
    table = change.memo(("sync.siblings", names), lambda: _by_name(change, names))
    key, kind = names.of_path(path), config.hardware_of(path)
    likely = [
        p
        for p in table.get(names.plain(PurePosixPath(path).stem), [])
        if p != path and names.of_path(p) == key
    ]
    return [p for p in likely if config.hardware_of(p) != kind and not config.is_test(p)]


def _by_name(change: ChangeSet, names: Names) -> dict[tuple[str, ...], list[str]]:
    """Every Python file by its name without hardware."""
    files = (path for path in change.head.paths() if path.endswith(".py"))
    return group_by(files, lambda path: names.plain(path[path.rfind("/") + 1 : -3]))


def counterparts(
    function: Function, unit: SourceFile, sibling: SourceFile, names: Names
) -> list[Function]:
    """The functions of `sibling` that do the same job: by name and class, else the one that reads the same.

    In its own file (`forward_cuda`, `forward_xpu`) only those of the same class.
    """
    key, owner = names.plain(function.name), names.plain(function.owner)
    named = [
        f for f in _functions(sibling, names).get(key, ()) if _special(f) == _special(function)
    ]
    if sibling is unit:
        return [f for f in named if f.name != function.name and f.owner == function.owner]
    same = [f for f in named if names.plain(f.owner) == owner]
    if same or named:
        return same or named
    found = [
        (containment(function, unit, f, sibling), f)
        for f in sibling.functions
        if _near(function, f)
    ]
    best = max(found, key=lambda pair: pair[0], default=(0.0, None))
    return [best[1]] if best[1] is not None and best[0] >= LEAST_CONTAINED else []


def _functions(unit: SourceFile, names: Names) -> dict[tuple[str, ...], list[Function]]:
    """The functions of `unit` by their names without hardware."""
    return unit.memo(
        (_functions, names), lambda: group_by(unit.functions, lambda f: names.plain(f.name))
    )


def _special(function: Function) -> bool:
    return function.name.startswith("__")


def _near(function: Function, other: Function) -> bool:
    """Whether two functions are of comparable length, so that comparing their text is worth it."""
    size, theirs = function.end_line - function.start_line, other.end_line - other.start_line
    return not _special(other) and theirs >= 8 and 0.4 < (size + 1) / (theirs + 1) < 2.5


def containment(
    function: Function, unit: SourceFile, other: Function, other_unit: SourceFile
) -> float:
    """The share of the shorter one's 5-grams, names abstracted, that stand in the longer one; 0 below 80 tokens."""
    left = _grams(unit.text(function.start_line, function.end_line))
    right = _grams(other_unit.text(other.start_line, other.end_line))
    if not left or not right:
        return 0.0
    short, long = sorted((left, right), key=len)
    return len(short & long) / len(short)


@lru_cache(maxsize=4096)
def _grams(text: str) -> frozenset[tuple[str, ...]]:
    """The 5-grams of a function's source, names abstracted; none where it has less than 80 tokens."""
    tokens = [_abstract(t) for t in _CODE.findall(re.sub(r"#.*", "", text))]
    if len(tokens) < LEAST_TOKENS:
        return frozenset()
    return frozenset(zip(*(tokens[i:] for i in range(GRAM)), strict=False))


def _abstract(token: str) -> str:
    if token[0].isalpha() or token[0] == "_":
        return token if keyword.iskeyword(token) else "x"
    return "0" if token[0].isdigit() else '"' if token[0] in "\"'" else token


def paired_changes(
    change: ChangeSet, config: Config
) -> Iterator[tuple[Function, Function, list[str]]]:
    """(base, head, sibling files) of every altered Python function; its own file is one where it has a copy there."""
    known: dict[str, list[str]] = {}
    names = Names.of(config)
    for old, new in change.changed_functions():
        if old is None or new is None or not new.path.endswith(".py") or config.is_test(new.path):
            continue
        if new.path not in known:
            known[new.path] = sibling_files(new.path, change, config)
        unit = change.unit(new.path)
        inside = unit is not None and names.plain(new.name) and counterparts(new, unit, unit, names)
        yield old, new, [*known[new.path], new.path] if inside else known[new.path]


def base_unit(path: str, change: ChangeSet) -> SourceFile | None:
    """What the head file `path` was in the base."""
    file = change.changed(path)
    return change.unit(file.base_path if file and file.base_path else path, Side.BASE)
