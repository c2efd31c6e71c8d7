"""From the name of an include or a Python module to the files of a tree."""

from __future__ import annotations

import posixpath
from collections import defaultdict
from functools import cached_property

from checks.core.change import ChangeSet
from checks.core.finding import Side
from checks.core.tree import Tree


class PathIndex:
    """Looks names up among the paths of `tree`.

    What lies outside the tree (`<cuda.h>`, `torch`) is not found.
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        # Both are asked for the same names from many files.
        self._included: dict[tuple[str, str], list[str]] = {}
        self._modules: dict[tuple[str, str], list[str]] = {}

    @cached_property
    def _paths(self) -> frozenset[str]:
        return frozenset(self._tree.paths())

    @cached_property
    def _by_file_name(self) -> dict[str, list[str]]:
        paths: dict[str, list[str]] = defaultdict(list)
        for path in self._tree.paths():
            paths[posixpath.basename(path)].append(path)
        return paths

    def include(self, start: str, name: str) -> list[str]:
        """The files that `#include "name"` in `start` may mean.

        Relative to `start`, else by the longest tail of the path, and among equals the nearest.
        More than one where the tree alone does not decide.
        """
        key = (start, name)
        if key not in self._included:
            self._included[key] = self._find_included(start, name)
        return self._included[key]

    def _find_included(self, start: str, name: str) -> list[str]:
        relative = posixpath.normpath(posixpath.join(posixpath.dirname(start), name))
        if relative in self._paths:
            return [relative]
        tail = posixpath.normpath(name)
        while tail.startswith("../"):
            tail = tail[3:]
        candidates = self._ending_in(tail) or self._ending_in(posixpath.basename(tail))
        return _nearest(start, candidates)

    def module(self, start: str, name: str) -> list[str]:
        """The files that are the Python module `name` for an import in `start`.

        Leading dots are relative to `start`.
        """
        key = (start, name)
        if key not in self._modules:
            self._modules[key] = self._find_module(start, name)
        return self._modules[key]

    def _find_module(self, start: str, name: str) -> list[str]:
        dots = len(name) - len(name.lstrip("."))
        parts = [part for part in name[dots:].split(".") if part]
        if dots:
            folder = start.split("/")[:-dots]
            return self._module_at("/".join([*folder, *parts]))
        if not parts:
            return []
        tail = "/".join(parts)
        exact = self._module_at(tail)
        if exact:
            return exact
        sibling = self._module_at(posixpath.join(posixpath.dirname(start), tail))
        # A single word is too little to find a module anywhere in the tree by.
        if sibling or len(parts) == 1:
            return sibling
        candidates = [*self._ending_in(f"{tail}.py"), *self._ending_in(f"{tail}/__init__.py")]
        return _nearest(start, candidates)

    def _module_at(self, stem: str) -> list[str]:
        package = f"{stem}/__init__.py" if stem else "__init__.py"
        for path in (f"{stem}.py", package, f"{stem}.pyi"):
            if path in self._paths:
                return [path]
        return []

    def _ending_in(self, tail: str) -> list[str]:
        """Paths that are `tail` or end in it, at a folder's edge."""
        candidates = self._by_file_name.get(posixpath.basename(tail), [])
        return [path for path in candidates if path == tail or path.endswith(f"/{tail}")]


def path_index(change: ChangeSet, side: Side) -> PathIndex:
    """The files of one side of `change`, indexed once for all rules."""
    return change.memo((PathIndex, side), lambda: PathIndex(change.tree(side)))


def _nearest(start: str, paths: list[str]) -> list[str]:
    """Those of `paths` that share the most leading folders with `start`."""
    shared = {path: _count_shared_folders(start, path) for path in paths}
    most = max(shared.values(), default=0)
    return [path for path in paths if shared[path] == most]


def _count_shared_folders(left: str, right: str) -> int:
    count = 0
    for left_part, right_part in zip(left.split("/")[:-1], right.split("/")[:-1], strict=False):
        if left_part != right_part:
            break
        count += 1
    return count
