"""Which files of a kernels package judge, and which are judged."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

PACKAGE = "kernels"
HARNESS = (f"{PACKAGE}/cases/", f"{PACKAGE}/run/", f"{PACKAGE}/bench/")
"""Folders that are always taken from the side that judges: the cases, the harness, and the
measuring it uses.
"""

Files = Mapping[str, bytes]


def trusted_files(files: Files) -> dict[str, bytes]:
    """The files that judge.

    The harness, each op's `reference.py`, and what a reference imports from the package.
    """
    trusted = {path for path in files if path.startswith(HARNESS)}
    to_visit = [path for path in files if PurePosixPath(path).name == "reference.py"]
    while to_visit:
        path = to_visit.pop()
        if path in trusted:
            continue
        trusted.add(path)
        for imported in _imported_files(path, files[path]):
            if imported in files:
                to_visit.append(imported)
    return {path: files[path] for path in sorted(trusted)}


def edited(base: Files, head: Files) -> tuple[str, ...]:
    """The files that judge and that head changed, added or removed."""
    trusted = {*trusted_files(base), *trusted_files(head)}
    return tuple(path for path in sorted(trusted) if base.get(path) != head.get(path))


def with_harness_of(judge: Files, judged: Files) -> dict[str, bytes]:
    """The package `judged` with the harness of `judge` in it."""
    package = {path: data for path, data in judged.items() if not path.startswith(HARNESS)}
    for path, data in judge.items():
        if path.startswith(HARNESS):
            package[path] = data
    return package


def ops(files: Files) -> tuple[str, ...]:
    """The ops that have cases: the modules directly in `cases`, except private ones."""
    names = []
    for path in files:
        folder, _, name = path.rpartition("/")
        if folder == f"{PACKAGE}/cases" and name.endswith(".py") and not name.startswith("_"):
            names.append(name.removesuffix(".py"))
    return tuple(sorted(names))


def digest(files: Files) -> str:
    """sha256 over the names and contents of the files that judge."""
    total = hashlib.sha256()
    for path, data in trusted_files(files).items():
        total.update(f"{path}\0{len(data)}\0".encode("utf-8", "surrogateescape"))
        total.update(data)
    return total.hexdigest()


def _imported_files(path: str, source: bytes) -> Iterator[str]:
    """Files of the package that a module may import.

    A package's `__init__` is not among them: it holds the op itself, and is judged.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield _path_of(alias.name)
        elif isinstance(node, ast.ImportFrom):
            module = _absolute_module(path, node)
            yield _path_of(module)
            for alias in node.names:
                yield _path_of(f"{module}.{alias.name}")


def _absolute_module(path: str, node: ast.ImportFrom) -> str:
    """The module of `from ... import`, where that is relative to the module at `path` too."""
    module = node.module or ""
    if not node.level:
        return module.strip(".")
    folders = PurePosixPath(path).parent.parts
    parents = folders[: len(folders) - node.level + 1]
    return ".".join([*parents, module]).strip(".")


def _path_of(module: str) -> str:
    return module.replace(".", "/") + ".py"
