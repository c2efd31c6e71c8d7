"""A snapshot of a repository: the files of one revision, read and searched in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from checks.core.words import find_word
from checks.lang.source import language as language_of


@dataclass(frozen=True, slots=True)
class WordMatch:
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

    def find(self, word: str, language: str = "") -> tuple[WordMatch, ...]:
        """Every line of a source or test file that holds `word` as a whole word, in path order.

        With a `language` (`cpp`, `python`) only files of that language are searched.
        """

    def paths_containing(self, word: str, language: str = "") -> tuple[str, ...]:
        """The paths of `find`'s hits, in order, each once.

        Cheaper than `find`: ask for these where the lines do not matter.
        """

    def contains(self, word: str) -> bool:
        """Whether `find` hits anything."""


class _FindBasedTree:
    """`paths_containing` and `contains` for a tree that has only `find`."""

    def find(self, word: str, language: str = "") -> tuple[WordMatch, ...]:
        raise NotImplementedError

    def paths_containing(self, word: str, language: str = "") -> tuple[str, ...]:
        paths = [match.path for match in self.find(word, language)]
        return tuple(dict.fromkeys(paths))

    def contains(self, word: str) -> bool:
        return bool(self.find(word))


class MemoryTree(_FindBasedTree):
    """A tree held in a dict; for tests."""

    def __init__(self, files: Mapping[str, bytes | str]) -> None:
        self._files: dict[str, bytes] = {}
        for path, content in sorted(files.items()):
            self._files[path] = content.encode() if isinstance(content, str) else content

    def paths(self) -> tuple[str, ...]:
        return tuple(self._files)

    def read(self, path: str) -> bytes | None:
        return self._files.get(path)

    def find(self, word: str, language: str = "") -> tuple[WordMatch, ...]:
        return tuple(_find_in_files(self._files, word, language))


class OverlayTree(_FindBasedTree):
    """`below` with some files replaced: what a fix makes of the head tree."""

    def __init__(self, below: Tree, files: Mapping[str, bytes]) -> None:
        self._below = below
        self._files = dict(files)

    def paths(self) -> tuple[str, ...]:
        return tuple(sorted({*self._below.paths(), *self._files}))

    def read(self, path: str) -> bytes | None:
        if path in self._files:
            return self._files[path]
        return self._below.read(path)

    def find(self, word: str, language: str = "") -> tuple[WordMatch, ...]:
        below = self._below.find(word, language)
        matches = [match for match in below if match.path not in self._files]
        matches += _find_in_files(self._files, word, language)
        return tuple(sorted(matches, key=_place))


class PatchedTree(_FindBasedTree):
    """`above` with the folders `prefixes` taken from `below`."""

    def __init__(self, above: Tree, below: Tree, prefixes: tuple[str, ...]) -> None:
        self._above = above
        self._below = below
        self._prefixes = prefixes

    def paths(self) -> tuple[str, ...]:
        paths = [path for path in self._above.paths() if not path.startswith(self._prefixes)]
        paths += [path for path in self._below.paths() if path.startswith(self._prefixes)]
        return tuple(sorted(paths))

    def read(self, path: str) -> bytes | None:
        tree = self._below if path.startswith(self._prefixes) else self._above
        return tree.read(path)

    def find(self, word: str, language: str = "") -> tuple[WordMatch, ...]:
        above = self._above.find(word, language)
        below = self._below.find(word, language)
        matches = [match for match in above if not match.path.startswith(self._prefixes)]
        matches += [match for match in below if match.path.startswith(self._prefixes)]
        return tuple(sorted(matches, key=_place))


def _place(match: WordMatch) -> tuple[str, int]:
    return match.path, match.line


def _find_in_files(files: Mapping[str, bytes], word: str, language: str) -> Iterator[WordMatch]:
    for path, data in files.items():
        if language and language_of(path) != language:
            continue
        for line, text in find_word(data, word):
            yield WordMatch(path, line, text)
