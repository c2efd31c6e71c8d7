"""One revision's files."""

from __future__ import annotations

import os
from collections.abc import Iterable

from bot.git.blobs import Blobs
from bot.git.command import Git, GitJob
from checks.core.tree import Match
from checks.lang.source import LARGEST, language

_LINK = b"120000"


class GitTree:
    """`checks.core.tree.Tree` over a git tree object.

    Regular files only: links and submodules have no content of ours.
    """

    def __init__(self, blobs: Blobs, entries: dict[str, str], sizes: dict[str, int]) -> None:
        self._blobs = blobs
        self._oids = entries
        self._sizes = sizes
        self._paths = tuple(sorted(entries))
        self._languages = {path: kind for path in self._paths if (kind := language(path))}
        self._sharers: dict[str, list[str]] = {}
        self._held: dict[str, bool] = {}
        for path in self._languages:
            self._sharers.setdefault(entries[path], []).append(path)

    def paths(self) -> tuple[str, ...]:
        return self._paths

    def read(self, path: str) -> bytes | None:
        oid = self._oids.get(path)
        return None if oid is None else self._blobs.read(oid)

    def searched(self) -> set[tuple[str, str]]:
        """Object id and language of the sources that are searched, those up to 2 MB."""
        oids, sizes = self._oids, self._sizes
        return {
            (oids[path], kind)
            for path, kind in self._languages.items()
            if sizes[oids[path]] <= LARGEST
        }

    def find(self, word: str, language: str = "") -> tuple[Match, ...]:
        found = dict(self._blobs.find(word, language))
        paths = self._of(found, language)
        return tuple(
            [Match(path, line, text) for path in paths for line, text in found[self._oids[path]]]
        )

    def paths_containing(self, word: str, language: str = "") -> tuple[str, ...]:
        return tuple(self._of(self._blobs.paths_containing(word, language), language))

    def contains(self, word: str) -> bool:
        if word not in self._held:
            # A name of Python code is found soon among Python's files, and nowhere among the others.
            found = (
                oid
                for kind in ("python", "cpp")
                for oid in self._blobs.paths_containing(word, kind)
            )
            self._held[word] = any(oid in self._sharers for oid in found)
        return self._held[word]

    def _of(self, oids: Iterable[str], language: str) -> list[str]:
        """The files of `language` with these contents, in order."""
        shared = (path for oid in oids for path in self._sharers.get(oid, ()))
        return sorted(path for path in shared if not language or self._languages[path] == language)


def trees(git: Git, blobs: Blobs, base: str, head: str) -> tuple[GitTree, GitTree]:
    """The two trees over the same blobs; what both of them search is read once."""
    return read_trees(blobs, list_trees(git, base, head))


def list_trees(git: Git, *revisions: str) -> list[GitJob]:
    """Git at work on what `read_trees` reads."""
    return [GitJob(git, "ls-tree", "-r", "-z", "-l", "--full-tree", tree) for tree in revisions]


def read_trees(blobs: Blobs, listings: list[GitJob]) -> tuple[GitTree, GitTree]:
    """The two trees whose files git lists."""
    first, second = (set(listing.output().split(b"\0")) for listing in listings)
    # Nearly all of one is in the other, and reading it takes as long as git does.
    entries, sizes = _entries(first & second)
    sides = [_entries(own) for own in (first - second, second - first)]
    made = [GitTree(blobs, entries | more, sizes | larger) for more, larger in sides]
    blobs.search_in(made[0].searched() | made[1].searched())
    return made[0], made[1]


def _entries(records: Iterable[bytes]) -> tuple[dict[str, str], dict[str, int]]:
    """Object ids by path, and the sizes of those objects."""
    entries: dict[str, str] = {}
    sizes: dict[str, int] = {}
    for record in filter(None, records):
        meta, name = record.split(b"\t", 1)
        mode, kind, oid_bytes, size = meta.split()
        if kind != b"blob" or mode == _LINK:
            continue
        oid = oid_bytes.decode("ascii")
        entries[os.fsdecode(name)] = oid
        # A promised object that is not here has the size `BAD`: it can't be searched, and `read` says so if asked.
        sizes[oid] = int(size) if size.isdigit() else LARGEST + 1
    return entries, sizes
