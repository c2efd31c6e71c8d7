"""A snapshot of a repository: the files of one revision, read and searched in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from checks.ir.node import node


@node
class Hit:
    """A whole-word occurrence: `line` counts from 1, `text` is the line without its end."""

    path: str
    line: int
    text: str


class Tree(Protocol):
    """The files of one revision. Paths are POSIX, relative to the root, sorted."""

    def paths(self) -> tuple[str, ...]:
        """Every regular file; symbolic links and submodules are left out."""

    def read(self, path: str) -> bytes | None:
        """The file's bytes, or None where there is no such file."""

    def find(self, word: str) -> tuple[Hit, ...]:
        """Every line of a source or test file that holds `word` as a whole word, in path order."""


_WORD = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")


def find_word(data: bytes, word: str) -> list[tuple[int, str]]:
    """(line, text) of each line of `data` in which `word` stands as a whole word."""
    needle = word.encode()
    hits: list[tuple[int, str]] = []
    if not needle:
        return hits
    line, counted = 1, 0
    start = data.find(needle)
    while start >= 0:
        end = start + len(needle)
        if _is_word(data, start, end):
            left = data.rfind(b"\n", 0, start) + 1
            right = data.find(b"\n", end)
            right = len(data) if right < 0 else right
            text = data[left:right].decode("utf-8", "replace").rstrip("\r")
            line, counted = line + data.count(b"\n", counted, left), left
            hits.append((line, text))
            end = right
        start = data.find(needle, end)
    return hits


def _is_word(data: bytes, start: int, end: int) -> bool:
    return (start == 0 or data[start - 1] not in _WORD) and (end >= len(data) or data[end] not in _WORD)


class MemoryTree:
    """A tree held in a dict; for tests, and for a head tree with a fix applied."""

    def __init__(self, files: Mapping[str, bytes | str]) -> None:
        self._files = {p: t.encode() if isinstance(t, str) else t for p, t in sorted(files.items())}

    def paths(self) -> tuple[str, ...]:
        return tuple(self._files)

    def read(self, path: str) -> bytes | None:
        return self._files.get(path)

    def find(self, word: str) -> tuple[Hit, ...]:
        return tuple(
            Hit(path, line, text) for path, data in self._files.items() for line, text in find_word(data, word)
        )


class OverlayTree:
    """`below` with some files replaced: what a fix makes of the head tree."""

    def __init__(self, below: Tree, files: Mapping[str, bytes]) -> None:
        self._below = below
        self._files = dict(files)

    def paths(self) -> tuple[str, ...]:
        return tuple(sorted({*self._below.paths(), *self._files}))

    def read(self, path: str) -> bytes | None:
        return self._files[path] if path in self._files else self._below.read(path)

    def find(self, word: str) -> tuple[Hit, ...]:
        kept = [h for h in self._below.find(word) if h.path not in self._files]
        new = [Hit(p, n, t) for p, d in self._files.items() for n, t in find_word(d, word)]
        return tuple(sorted(kept + new, key=lambda h: (h.path, h.line)))


class PatchedTree:
    """`above` with the folders `prefixes` taken from `below`."""

    def __init__(self, above: Tree, below: Tree, prefixes: tuple[str, ...]) -> None:
        self._above = above
        self._below = below
        self._prefixes = prefixes

    def paths(self) -> tuple[str, ...]:
        kept = [p for p in self._above.paths() if not p.startswith(self._prefixes)]
        return tuple(sorted([*kept, *under(self._below.paths(), *self._prefixes)]))

    def read(self, path: str) -> bytes | None:
        return (self._below if path.startswith(self._prefixes) else self._above).read(path)

    def find(self, word: str) -> tuple[Hit, ...]:
        kept = [h for h in self._above.find(word) if not h.path.startswith(self._prefixes)]
        taken = [h for h in self._below.find(word) if h.path.startswith(self._prefixes)]
        return tuple(sorted(kept + taken, key=lambda h: (h.path, h.line)))


def under(paths: Iterable[str], *prefixes: str) -> list[str]:
    """The paths that lie below one of `prefixes`."""
    return [p for p in paths if p.startswith(prefixes)]
