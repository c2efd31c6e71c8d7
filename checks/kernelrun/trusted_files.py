"""Which files of a kernels package judge, and which are judged."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

PACKAGE = "kernels"
HARNESS = (f"{PACKAGE}/cases/", f"{PACKAGE}/run/", f"{PACKAGE}/bench/")
"""Folders that are always taken from the side that judges: the cases, the harness, and the measuring it uses."""

Files = Mapping[str, bytes]


def trusted_files(files: Files) -> dict[str, bytes]:
    """The files that judge: the harness, each op's `reference.py`, and what a reference imports of the package."""
    found = {path for path in files if path.startswith(HARNESS)}
    left = [path for path in files if PurePosixPath(path).name == "reference.py"]
    while left:
        path = left.pop()
        if path not in found:
            found.add(path)
            left += [p for p in _imports(path, files[path]) if p in files]
    return {path: files[path] for path in sorted(found)}


def edited(base: Files, head: Files) -> tuple[str, ...]:
    """The files that judge and that head changed, added or removed."""
    before, after = trusted_files(base), trusted_files(head)
    return tuple(path for path in sorted({*before, *after}) if base.get(path) != head.get(path))


def with_harness_of(judge: Files, judged: Files) -> dict[str, bytes]:
    """`judged`'s package with the harness of `judge` in it."""
    own = {path: data for path, data in judged.items() if not path.startswith(HARNESS)}
    return own | {path: data for path, data in judge.items() if path.startswith(HARNESS)}


def ops(files: Files) -> tuple[str, ...]:
    """The ops that there are cases for."""
    start = f"{PACKAGE}/cases/"
    names = (
        path.removeprefix(start)
        for path in files
        if path.startswith(start) and path.endswith(".py")
    )
    return tuple(
        sorted(n.removesuffix(".py") for n in names if "/" not in n and not n.startswith("_"))
    )


def digest(files: Files) -> str:
    """sha256 over the names and contents of the files that judge."""
    total = hashlib.sha256()
    for path, data in trusted_files(files).items():
        total.update(f"{path}\0{len(data)}\0".encode("utf-8", "surrogateescape"))
        total.update(data)
    return total.hexdigest()


def _imports(path: str, source: bytes) -> Iterator[str]:
    """Files of the package that a module may import. A package's `__init__` holds the op itself and is judged."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    here = PurePosixPath(path).parent
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (_file(alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = here.parts[: len(here.parts) - node.level + 1] if node.level else ()
            module = ".".join([*parents, *(node.module or "").split(".")]).strip(".")
            yield _file(module)
            yield from (_file(f"{module}.{alias.name}") for alias in node.names)


def _file(module: str) -> str:
    return module.replace(".", "/") + ".py"
