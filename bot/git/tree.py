"""One revision's files."""

from __future__ import annotations

import os
from collections.abc import Iterable

from bot.git.blobs import BlobStore
from bot.git.command import Git, GitJob
from checks.core.tree import WordMatch
from checks.lang.source import LARGEST, language

_LINK = b"120000"


class GitTree:
    """`checks.core.tree.Tree` over a git tree object.

    Regular files only: links and submodules have no content of ours. `oids` are the files' object
    ids by path, `sizes` the bytes of each object.
    """

    def __init__(self, blobs: BlobStore, oids: dict[str, str], sizes: dict[str, int]) -> None:
        self._blobs = blobs
        self._oids = oids
        self._sizes = sizes
        self._paths = tuple(sorted(oids))
        # The language of each source file, and the source files that hold each object.
        self._languages: dict[str, str] = {}
        self._paths_of: dict[str, list[str]] = {}
        for path in self._paths:
            kind = language(path)
            if kind:
                self._languages[path] = kind
                self._paths_of.setdefault(oids[path], []).append(path)

    def paths(self) -> tuple[str, ...]:
        return self._paths

    def read(self, path: str) -> bytes | None:
        oid = self._oids.get(path)
        return None if oid is None else self._blobs.read(oid)

    def searched(self) -> set[tuple[str, str]]:
        """Object id and language of the sources that are searched, those up to `LARGEST`."""
        sources = set()
        for path, kind in self._languages.items():
            oid = self._oids[path]
            if self._sizes[oid] <= LARGEST:
                sources.add((oid, kind))
        return sources

    def find(self, word: str, language: str = "") -> tuple[WordMatch, ...]:
        lines = dict(self._blobs.find(word, language))
        matches = []
        for path in self._files_holding(lines, language):
            for number, text in lines[self._oids[path]]:
                matches.append(WordMatch(path, number, text))
        return tuple(matches)

    def paths_containing(self, word: str, language: str = "") -> tuple[str, ...]:
        oids = self._blobs.blobs_containing(word, language)
        return tuple(self._files_holding(oids, language))

    def contains(self, word: str) -> bool:
        # One language after the other: where the first has the word, the second is not searched.
        for kind in sorted(set(self._languages.values()), reverse=True):
            if self.paths_containing(word, kind):
                return True
        return False

    def _files_holding(self, oids: Iterable[str], language: str) -> list[str]:
        """The files of `language` with these contents, in order of their paths."""
        paths = []
        for oid in oids:
            for path in self._paths_of.get(oid, []):
                if not language or self._languages[path] == language:
                    paths.append(path)
        return sorted(paths)


def open_trees(git: Git, blobs: BlobStore, base: str, head: str) -> tuple[GitTree, GitTree]:
    """The two trees over the same blobs; what both of them search is read once."""
    return read_trees(blobs, list_trees(git, base, head))


def list_trees(git: Git, *revisions: str) -> list[GitJob]:
    """Git at work on what `read_trees` reads."""
    return [GitJob(git, "ls-tree", "-r", "-z", "-l", "--full-tree", tree) for tree in revisions]


def read_trees(blobs: BlobStore, listings: list[GitJob]) -> tuple[GitTree, GitTree]:
    """The two trees whose files git lists."""
    base, head = (GitTree(blobs, *_entries(listing.output())) for listing in listings)
    blobs.search_in(base.searched() | head.searched())
    return base, head


def _entries(listing: bytes) -> tuple[dict[str, str], dict[str, int]]:
    """Object ids by path, and the sizes of those objects."""
    oids: dict[str, str] = {}
    sizes: dict[str, int] = {}
    for record in listing.split(b"\0")[:-1]:
        fields, name = record.split(b"\t", 1)
        mode, kind, oid_bytes, size = fields.split()
        if kind != b"blob" or mode == _LINK:
            continue
        oid = oid_bytes.decode("ascii")
        oids[os.fsdecode(name)] = oid
        # An object that a partial clone does not have here has the size `BAD`: it is not searched,
        # and `read` says that it is missing.
        sizes[oid] = int(size) if size.isdigit() else LARGEST + 1
    return oids, sizes
