"""What tests need besides the ops that they are run for.

A test file that imports an op which is not there does not run at all: the sources of the other ops
that it takes from the same module are built too.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from kernels.emulator.discovery import hardware_of, imported_names, used_attributes
from kernels.emulator.registrations import Bindings

_SUFFIXES = (".cu", ".cc", ".cpp")
_WORD = re.compile(r"\w+")


def needs_of(root: Path, tests: Mapping[str, Collection[str]]) -> dict[str, dict[str, str]]:
    """The other ops that each test file takes, each with the source that registers it; only files
    that take one.

    `tests` are the ops that each is run for. An op that no source registers is not among them.
    """
    taken = {path: set(_taken_beside(root / path, ops)) for path, ops in tests.items()}
    names = {name for pairs in taken.values() for name, _ in pairs}
    sources = _sources_of(root, names) if names else {}
    needs = {}
    for path, pairs in taken.items():
        found = {name: _source(sources.get(name, ()), path, module) for name, module in pairs}
        known = {name: source for name, source in found.items() if source}
        if known:
            needs[path] = known
    return needs


def _taken_beside(test: Path, ops: Collection[str]) -> Iterator[tuple[str, str]]:
    """What a test takes from the modules of its ops, each name with its module."""
    text = test.read_text("utf-8", "replace")
    taken = imported_names(text) | used_attributes(text)
    modules = {module for name, module in taken if name in ops and module}
    return ((name, module) for name, module in taken if module in modules and name not in ops)


def _sources_of(root: Path, names: Collection[str]) -> dict[str, list[str]]:
    """The sources that register each of some ops."""
    bindings = Bindings.of(root)
    # A source that another file binds to Python has the function's name in place of the op's.
    words = {*names, *(f for (_, name), f in bindings.functions.items() if name in names)}
    sources: dict[str, list[str]] = {}
    for path in sorted(root.rglob("*")):
        if path.suffix not in _SUFFIXES or path.is_symlink():
            continue
        text = path.read_text("utf-8", "replace")
        if words.isdisjoint(_WORD.findall(text)):
            continue
        place = path.relative_to(root).as_posix()
        for op in bindings.ops_of(place, text + bindings.text_for(place, text)):
            sources.setdefault(op, []).append(place)
    return {name: sources[name] for name in names if name in sources}


def _source(sources: Iterable[str], test: str, module: str) -> str:
    """The first of some sources that is for the hardware of the test and of its module."""
    named = {hardware_of(test), hardware_of(module)} - {""}
    return next((source for source in sources if named <= {hardware_of(source)}), "")
