"""One revision's files."""

from __future__ import annotations

import os

from bot.git.blobs import Blobs
from bot.git.command import Git
from checks.source import LARGEST, language
from checks.tree import Hit

_LINK = b"120000"


class GitTree:
    """`checks.tree.Tree` over a git tree object. Regular files only: links and submodules have no content of ours."""

    def __init__(self, blobs: Blobs, entries: dict[str, str], sizes: dict[str, int]) -> None:
        self._blobs = blobs
        self._oids = entries
        self._sizes = sizes
        self._paths = tuple(sorted(entries))
        self._sharers: dict[str, list[str]] = {}
        for path in self._paths:
            self._sharers.setdefault(entries[path], []).append(path)

    def paths(self) -> tuple[str, ...]:
        return self._paths

    def read(self, path: str) -> bytes | None:
        oid = self._oids.get(path)
        return None if oid is None else self._blobs.read(oid)

    def searched(self) -> set[str]:
        """Object ids of the sources that `find` looks through: up to 2 MB each."""
        return {oid for path, oid in self._oids.items() if language(path) and self._sizes[oid] <= LARGEST}

    def find(self, word: str) -> tuple[Hit, ...]:
        hits = [
            Hit(path, line, text)
            for oid, lines in self._blobs.find(word).items()
            for path in self._sharers.get(oid, ())
            if language(path)
            for line, text in lines
        ]
        return tuple(sorted(hits, key=lambda h: (h.path, h.line)))


def trees(git: Git, blobs: Blobs, base: str, head: str) -> tuple[GitTree, GitTree]:
    """The two trees over the same blobs; what both of them search is read once."""
    listings = [git.start("ls-tree", "-r", "-z", "-l", "--full-tree", tree) for tree in (base, head)]
    first, second = (_entries(git.finish(listing)) for listing in listings)
    made = GitTree(blobs, *first), GitTree(blobs, *second)
    blobs.search_in(made[0].searched() | made[1].searched())
    return made


def _entries(data: bytes) -> tuple[dict[str, str], dict[str, int]]:
    entries: dict[str, str] = {}
    sizes: dict[str, int] = {}
    for record in data.split(b"\0")[:-1]:
        meta, name = record.split(b"\t", 1)
        mode, kind, oid_bytes, size = meta.split()
        if kind != b"blob" or mode == _LINK:
            continue
        oid = oid_bytes.decode("ascii")
        entries[os.fsdecode(name)] = oid
        # A promised object that is not here has the size `BAD`: it can't be searched, and `read` says so if asked.
        sizes[oid] = int(size) if size.isdigit() else LARGEST + 1
    return entries, sizes
