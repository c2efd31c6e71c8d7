"""The contents of a repository's files, read through one `git cat-file --batch` and searched in memory."""

from __future__ import annotations

import os
import subprocess
import tempfile
from bisect import bisect_right
from collections.abc import Iterator, Set
from itertools import accumulate
from typing import IO

from bot.errors import UserError
from bot.git.command import Git, raise_git_error
from bot.git.memory import Memory
from checks.core.tree import contains_word, find_word

# Where a blob lies among those that are searched: one that stands in files of both languages lies between the two, so
# that what is searched for one language is in one piece.
_REGIONS = {"cpp": (0, 1), "python": (2, 1), "": (0, 1, 2)}


class Blobs:
    """Blobs by object id, shared by the base and the head tree. Close it, or use it in a `with`."""

    def __init__(self, git: Git) -> None:
        self._git = git
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0
        self._read: dict[str, bytes] = {}
        self._reader: subprocess.Popen[bytes] | None = None
        self._sources: IO[bytes] | None = None
        self._loaded = True
        self._buffer = Memory(b"")
        self._starts: list[int] = []
        self._ids: list[str] = []
        self._spans: dict[str, tuple[int, int]] = {}
        self._bounds: tuple[int, ...] = (0, 0, 0, 0)
        self._holding: dict[tuple[str, int], list[str]] = {}
        self._found: dict[tuple[str, str], list[tuple[int, str]]] = {}

    def __enter__(self) -> Blobs:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the git processes; what was read stays readable."""
        for process in (self._process, self._reader):
            if process is not None:
                process.kill()
                process.communicate()
        if self._sources is not None:
            self._sources.close()
        self._process = self._reader = self._sources = None

    def read(self, oid: str) -> bytes:
        """The bytes of one blob."""
        if oid in self._spans:
            start, end = self._spans[oid]
            return self._buffer.data[start:end]
        if oid not in self._read:
            self._read[oid] = self._fetch(oid)
        return self._read[oid]

    def _fetch(self, oid: str) -> bytes:
        if self._process is None or self._owner != os.getpid():
            # A forked process starts its own: two that read from one pipe would get each other's answers.
            self._process, self._owner = self._git.start("cat-file", "--batch"), os.getpid()
        process = self._process
        assert (
            process.stdin is not None and process.stdout is not None and process.stderr is not None
        )
        process.stdin.write(oid.encode() + b"\n")
        process.stdin.flush()
        header = process.stdout.readline().split()
        if not header:
            raise_git_error(process.stderr.read())
        if len(header) != 3:
            raise UserError("missing-object", oid=oid)
        return process.stdout.read(int(header[2]) + 1)[:-1]

    def search_in(self, sources: Set[tuple[str, str]]) -> None:
        """Name the blobs that are looked through, each with the language of the files that it stands in."""
        cpp, python = ({oid for oid, kind in sources if kind == name} for name in ("cpp", "python"))
        regions = [sorted(oids) for oids in (cpp - python, cpp & python, python - cpp)]
        self._ids = [oid for region in regions for oid in region]
        self._bounds = (0, *accumulate(map(len, regions)))
        self._loaded = False

    def prefetch(self) -> None:
        """Let git read those blobs while we do something else (20 MB of sources take 0.1 s). It writes to a file, so
        that neither side waits for the other."""
        self._sources = tempfile.TemporaryFile()
        with tempfile.TemporaryFile() as asked:
            asked.write("".join(f"{oid}\n" for oid in self._ids).encode("ascii"))
            asked.seek(0)
            self._reader = self._git.start(
                "cat-file", "--batch", "--buffer", stdin=asked, stdout=self._sources
            )

    def _load(self) -> None:
        if self._reader is None:
            self.prefetch()
        assert self._reader is not None and self._sources is not None
        Git.finish(self._reader)
        with self._sources as file:
            self._buffer = Memory.of(file)
        self._reader = self._sources = None
        self._index()
        self._loaded = True
        self._read.clear()

    def _index(self) -> None:
        at, data = 0, self._buffer.data
        for oid in self._ids:
            line_end = data.find(b"\n", at)
            header = data[at:line_end].split()
            if len(header) != 3:
                raise UserError("missing-object", oid=oid)
            start = line_end + 1
            end = start + int(header[2])
            self._starts.append(start)
            self._spans[oid] = (start, end)
            at = end + 1

    def load(self) -> None:
        """Have what is searched in memory."""
        if not self._loaded:
            self._load()

    def find(self, word: str, language: str) -> Iterator[tuple[str, list[tuple[int, str]]]]:
        """(object id, its lines as (number, text)) of each blob of `language` that holds `word` as a whole word; of
        any, where `language` is empty."""
        for oid in self.paths_containing(word, language):
            if (word, oid) not in self._found:
                self._found[word, oid] = find_word(self.read(oid), word)
            yield oid, self._found[word, oid]

    def paths_containing(self, word: str, language: str) -> Iterator[str]:
        """The blobs that `find` gives lines of; those that nobody waits for are not looked for."""
        self.load()
        for region in _REGIONS[language]:
            known = self._holding.get((word, region))
            if known is None:
                known = []
                for oid in self._containing(
                    word.encode(), self._bounds[region], self._bounds[region + 1]
                ):
                    known.append(oid)
                    yield oid
                self._holding[word, region] = known
            else:
                yield from known

    def _containing(self, needle: bytes, first: int, last: int) -> Iterator[str]:
        """Those of the blobs number `first` to `last` that hold `needle` as a whole word; the headers between the
        blobs are stepped over."""
        if first == last or not needle:
            return
        stop = self._spans[self._ids[last - 1]][1]
        at = self._buffer.find(needle, self._starts[first], stop)
        while at >= 0:
            i = bisect_right(self._starts, at)
            oid = self._ids[i - 1]
            # With the byte before it, which may make it part of a word.
            if contains_word(self._buffer.data[at - 1 : self._spans[oid][1]], needle):
                yield oid
            at = self._buffer.find(needle, self._starts[i], stop) if i < last else -1
