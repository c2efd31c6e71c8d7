"""Folders for one run: the files of each side, what is built of them, and the kept libraries."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from bot.errors import UserError
from checks.core.tree import Tree

_SUFFIXES = (".cu", ".cuh", ".h", ".hpp", ".cc", ".cpp", ".inl", ".inc", ".py", ".xpu", ".toml")
_BUILD_FILES = (".cmake", "CMakeLists.txt")
_DEVICE_SUFFIX = ".cu"
_KERNEL = re.compile(r"^\s*@triton\.jit\b", re.MULTILINE)
_TORCH = re.compile(r"^\s*import torch\b", re.MULTILINE)
# Libraries, objects, and the compiled header that all sources begin with.
_KEPT = ("*.so", "*.o", "*.gch")
_FORBIDDEN = {"", ".", "..", ".git"}
# Bytes of one kept library and of all: the oldest go first.
_LARGEST_CACHE = 2 << 30


@dataclass(frozen=True)
class Workspace:
    """The folder of a run, and the cache that outlives it."""

    folder: Path
    cache: Path

    def side(self, name: str) -> Path:
        """The folder with one side's files."""
        return self.folder / name / "tree"

    def job(self, name: str) -> Path:
        """A new folder for a job."""
        folder = self.folder / "jobs" / name
        folder.mkdir(parents=True)
        return folder

    def keep(self, library: Path) -> None:
        """Keep a file that was built in this run for later ones."""
        self.cache.mkdir(parents=True, exist_ok=True)
        unfinished = self.cache / f"{library.name}.{os.getpid()}"
        with suppress(OSError):
            shutil.copyfile(library, unfinished)
            unfinished.rename(self.cache / library.name)

    def prune(self) -> None:
        """Take the oldest of what is kept away where it is too much."""
        kept = [path for pattern in _KEPT for path in self.cache.glob(pattern)]
        files = sorted(kept, key=lambda path: path.stat().st_mtime)
        size = sum(path.stat().st_size for path in files)
        for path in files:
            if size <= _LARGEST_CACHE:
                return
            size -= path.stat().st_size
            path.unlink(missing_ok=True)


def cache_folder() -> Path:
    """Where libraries are kept: the user's cache folder."""
    given = os.environ.get("XDG_CACHE_HOME")
    root = Path(given) if given else Path.home() / ".cache"
    return root / "specbot" / "device"


@dataclass(frozen=True, slots=True)
class Written:
    """A revision whose sources lie in a folder."""

    tree: Tree
    folder: Path

    def holds(self, name: str, data: bytes) -> bool:
        """Whether a file with these contents was written there."""
        return self.tree.read(name) == data


def write_tree(tree: Tree, folder: Path, other: Written | None = None) -> Written:
    """Write the sources of a revision: C++ and Python. Links are left out by the tree.

    What is the same in `other` becomes another name of the file there: a change leaves nearly all
    as it was, and making a file costs ten times as much as naming one. Raises `UserError` for names
    that no file system takes.
    """
    for name in tree.paths():
        if not name.endswith((*_SUFFIXES, *_BUILD_FILES)) or not _harmless(name):
            continue
        path, data = folder / name, tree.read(name) or b""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if other is None or not other.holds(name, data) or not _link(other.folder / name, path):
                path.write_bytes(data)
        except OSError as error:
            raise UserError("unwritable", path=name, reason=error.strerror) from error
    return Written(tree, folder)


def _link(existing: Path, path: Path) -> bool:
    """Whether the file has the other name now too: some file systems give it none."""
    try:
        path.hardlink_to(existing)
    except OSError:
        return False
    return True


def _harmless(path: str) -> bool:
    return "\\" not in path and not any(part.lower() in _FORBIDDEN for part in path.split("/"))


def device_sources(tree: Tree, globs: Iterable[str]) -> list[str]:
    """The device sources of a tree, those that match one of `globs` where there are any.

    CUDA sources, and Python files with Triton kernels on PyTorch's tensors.
    """
    patterns = list(globs)
    with_triton = set(tree.paths_containing("triton", "python"))
    sources = []
    for path in tree.paths():
        if not _harmless(path) or not (path.endswith(_DEVICE_SUFFIX) or path in with_triton):
            continue
        if patterns and not any(_matches(path, pattern) for pattern in patterns):
            continue
        if path.endswith(_DEVICE_SUFFIX) or _has_triton_kernels(tree, path):
            sources.append(path)
    return sources


def _has_triton_kernels(tree: Tree, path: str) -> bool:
    text = (tree.read(path) or b"").decode("utf-8", "replace")
    return bool(_KERNEL.search(text) and _TORCH.search(text))


def _matches(path: str, pattern: str) -> bool:
    """`*` stands for anything, slashes too; a pattern without wildcards also names a folder."""
    return fnmatch(path, pattern) or path.startswith(pattern.rstrip("/") + "/")
