"""One revision's files."""

from __future__ import annotations

import os
from collections.abc import Iterable

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
        self._languages = {path: kind for path in self._paths if (kind := language(path))}
        self._sharers: dict[str, list[str]] = {}
        for path in self._languages:
            self._sharers.setdefault(entries[path], []).append(path)

    def paths(self) -> tuple[str, ...]:
        return self._paths

    def read(self, path: str) -> bytes | None:
        oid = self._oids.get(path)
        return None if oid is None else self._blobs.read(oid)

    def searched(self) -> dict[str, set[str]]:
        """Object ids of the sources that are searched, those up to 2 MB, with the languages of their files."""
        small = (item for item in self._sharers.items() if self._sizes[item[0]] <= LARGEST)
        return {oid: {self._languages[path] for path in paths} for oid, paths in small}

    def find(self, word: str, language: str = "") -> tuple[Hit, ...]:
        found = dict(self._blobs.find(word, language))
        paths = self._of(found, language)
        return tuple([Hit(path, line, text) for path in paths for line, text in found[self._oids[path]]])

    def holders(self, word: str, language: str = "") -> tuple[str, ...]:
        return tuple(self._of(self._blobs.holders(word, language), language))

    def holds(self, word: str) -> bool:
        return any(oid in self._sharers for oid in self._blobs.holders(word, ""))

    def _of(self, oids: Iterable[str], language: str) -> list[str]:
        """The files of `language` with these contents, in order."""
        shared = (path for oid in oids for path in self._sharers.get(oid, ()))
        return sorted(path for path in shared if not language or self._languages[path] == language)


def trees(git: Git, blobs: Blobs, base: str, head: str) -> tuple[GitTree, GitTree]:
    """The two trees over the same blobs; what both of them search is read once."""
    listings = [git.start("ls-tree", "-r", "-z", "-l", "--full-tree", tree) for tree in (base, head)]
    first, second = (_entries(git.finish(listing)) for listing in listings)
    made = GitTree(blobs, *first), GitTree(blobs, *second)
    kinds = made[0].searched()
    for oid, more in made[1].searched().items():
        kinds[oid] = kinds[oid] | more if oid in kinds else more
    blobs.search_in(kinds)
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
