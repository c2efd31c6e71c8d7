"""A snapshot of a repository: the files of one revision, read and searched in memory."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from checks.lang.source import language as language_of


@dataclass(frozen=True, slots=True)
class Match:
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

    def find(self, word: str, language: str = "") -> tuple[Match, ...]:
        """Every line of a source or test file, of `language` where one is given, that holds `word` as a whole word, in
        path order."""

    def paths_containing(self, word: str, language: str = "") -> tuple[str, ...]:
        """The paths of `find`'s hits, in order and each once: ask for these where the lines do not matter."""

    def contains(self, word: str) -> bool:
        """Whether `find` hits anything."""


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


def word_regex(word: str) -> str:
    """A pattern of `word` with no word character before it. With `\\b` in front it would take forty times as long: only
    a pattern that begins with plain letters is looked for by them."""
    plain = re.escape(word)
    return rf"{plain}(?<!\w{plain})"


def contains_word(data: bytes, needle: bytes) -> bool:
    """Whether `needle` stands as a whole word in `data`."""
    at = data.find(needle)
    while at >= 0 and not _is_word(data, at, at + len(needle)):
        at = data.find(needle, at + len(needle))
    return at >= 0


def _is_word(data: bytes, start: int, end: int) -> bool:
    return (start == 0 or data[start - 1] not in _WORD) and (
        end >= len(data) or data[end] not in _WORD
    )


class _Searched:
    """What `find` tells of a tree."""

    def find(self, word: str, language: str = "") -> tuple[Match, ...]:
        raise NotImplementedError

    def paths_containing(self, word: str, language: str = "") -> tuple[str, ...]:
        return tuple(dict.fromkeys(h.path for h in self.find(word, language)))

    def contains(self, word: str) -> bool:
        return bool(self.find(word))


class MemoryTree(_Searched):
    """A tree held in a dict; for tests, and for a head tree with a fix applied."""

    def __init__(self, files: Mapping[str, bytes | str]) -> None:
        self._files = {p: t.encode() if isinstance(t, str) else t for p, t in sorted(files.items())}

    def paths(self) -> tuple[str, ...]:
        return tuple(self._files)

    def read(self, path: str) -> bytes | None:
        return self._files.get(path)

    def find(self, word: str, language: str = "") -> tuple[Match, ...]:
        return tuple(_matches(self._files, word, language))


class OverlayTree(_Searched):
    """`below` with some files replaced: what a fix makes of the head tree."""

    def __init__(self, below: Tree, files: Mapping[str, bytes]) -> None:
        self._below = below
        self._files = dict(files)

    def paths(self) -> tuple[str, ...]:
        return tuple(sorted({*self._below.paths(), *self._files}))

    def read(self, path: str) -> bytes | None:
        return self._files[path] if path in self._files else self._below.read(path)

    def find(self, word: str, language: str = "") -> tuple[Match, ...]:
        kept = [h for h in self._below.find(word, language) if h.path not in self._files]
        return tuple(
            sorted([*kept, *_matches(self._files, word, language)], key=lambda h: (h.path, h.line))
        )


class PatchedTree(_Searched):
    """`above` with the folders `prefixes` taken from `below`."""

    def __init__(self, above: Tree, below: Tree, prefixes: tuple[str, ...]) -> None:
        self._above = above
        self._below = below
        self._prefixes = prefixes

    def paths(self) -> tuple[str, ...]:
        kept = [p for p in self._above.paths() if not p.startswith(self._prefixes)]
        return tuple(sorted([*kept, *below(self._below.paths(), *self._prefixes)]))

    def read(self, path: str) -> bytes | None:
        return (self._below if path.startswith(self._prefixes) else self._above).read(path)

    def find(self, word: str, language: str = "") -> tuple[Match, ...]:
        kept = [
            h for h in self._above.find(word, language) if not h.path.startswith(self._prefixes)
        ]
        taken = [h for h in self._below.find(word, language) if h.path.startswith(self._prefixes)]
        return tuple(sorted(kept + taken, key=lambda h: (h.path, h.line)))


def _matches(files: Mapping[str, bytes], word: str, language: str) -> Iterator[Match]:
    for path, data in files.items():
        if not language or language_of(path) == language:
            yield from (Match(path, line, text) for line, text in find_word(data, word))


def below(paths: Iterable[str], *prefixes: str) -> list[str]:
    """The paths that lie below one of `prefixes`."""
    return [p for p in paths if p.startswith(prefixes)]
