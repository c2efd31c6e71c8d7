"""From the name of an include or a Python module to the files of a tree."""

from __future__ import annotations

import posixpath
from collections import defaultdict
from functools import cached_property

from checks.core.change import ChangeSet
from checks.core.finding import Side
from checks.core.tree import Tree


class Files:
    """Looks names up among the paths of `tree`; what lies outside it (`<cuda.h>`, `torch`) is not found."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._included: dict[tuple[str, str], list[str]] = {}
        self._modules: dict[tuple[str, str], list[str]] = {}

    @cached_property
    def _paths(self) -> frozenset[str]:
        return frozenset(self._tree.paths())

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        names: dict[str, list[str]] = defaultdict(list)
        for path in self._tree.paths():
            names[posixpath.basename(path)].append(path)
        return names

    def include(self, start: str, name: str) -> list[str]:
        """The files that `#include "name"` in `start` may mean: relative to it, else by the longest
        tail of the path, and among equals the nearest. More than one where the tree alone does not
        decide."""
        key = (start, name)
        if key not in self._included:
            self._included[key] = self._include(start, name)
        return self._included[key]

    def _include(self, start: str, name: str) -> list[str]:
        near = posixpath.normpath(posixpath.join(posixpath.dirname(start), name))
        if near in self._paths:
            return [near]
        wanted = posixpath.normpath(name)
        while wanted.startswith("../"):
            wanted = wanted[3:]
        found = self._ending(wanted) or self._ending(posixpath.basename(wanted))
        return _nearest(start, found)

    def module(self, start: str, name: str) -> list[str]:
        """The files that are the Python module `name` for an import in `start`; leading dots are relative."""
        key = (start, name)
        if key not in self._modules:
            self._modules[key] = self._module(start, name)
        return self._modules[key]

    def _module(self, start: str, name: str) -> list[str]:
        dots = len(name) - len(name.lstrip("."))
        parts = [p for p in name[dots:].split(".") if p]
        if dots:
            folder = start.split("/")[:-dots]
            return self._module_at("/".join([*folder, *parts]))
        if not parts:
            return []
        tail = "/".join(parts)
        exact = self._module_at(tail)
        if exact:
            return exact
        beside = self._module_at(posixpath.join(posixpath.dirname(start), tail))
        if beside or len(parts) == 1:
            return beside
        found = [*self._ending(f"{tail}.py"), *self._ending(f"{tail}/__init__.py")]
        return _nearest(start, found)

    def _module_at(self, stem: str) -> list[str]:
        names = (f"{stem}.py", f"{stem}/__init__.py" if stem else "__init__.py", f"{stem}.pyi")
        return [name for name in names if name in self._paths][:1]

    def _ending(self, tail: str) -> list[str]:
        """Paths that are `tail` or end in it, at a folder's edge."""
        same = self._by_name.get(posixpath.basename(tail), [])
        return [p for p in same if p == tail or p.endswith(f"/{tail}")]


def files(change: ChangeSet, side: Side) -> Files:
    """The files of one side of `change`, indexed once for all rules."""
    return change.memo((Files, side), lambda: Files(change.tree(side)))


def _nearest(start: str, paths: list[str]) -> list[str]:
    """Those of `paths` that share the most leading folders with `start`."""
    here = start.split("/")[:-1]

    def shared(path: str) -> int:
        there = path.split("/")[:-1]
        return next(
            (i for i, (a, b) in enumerate(zip(here, there, strict=False)) if a != b),
            min(len(here), len(there)),
        )

    most = max(map(shared, paths), default=0)
    return [p for p in paths if shared(p) == most]
