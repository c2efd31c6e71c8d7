"""The contents of a repository's files, read through one `git cat-file --batch` and searched in memory."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from bisect import bisect_right
from collections.abc import Iterable
from typing import IO

from bot.errors import UserError
from bot.git.command import Git, fail
from bot.git.memory import Memory
from checks.tree import find_word

MANY = 400
_WORD = re.compile(rb"[A-Za-z0-9_]+")


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
        self._words: dict[bytes, list[str]] = {}
        self._found: dict[str, dict[str, list[tuple[int, str]]]] = {}

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
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        process.stdin.write(oid.encode() + b"\n")
        process.stdin.flush()
        header = process.stdout.readline().split()
        if not header:
            fail(process.stderr.read())
        if len(header) != 3:
            raise UserError("missing-object", oid=oid)
        return process.stdout.read(int(header[2]) + 1)[:-1]

    def search_in(self, oids: Iterable[str]) -> None:
        """Name the blobs that `find` looks through."""
        self._ids = sorted(set(oids))
        self._loaded = False

    def prefetch(self) -> None:
        """Let git read those blobs while we do something else (20 MB of sources take 0.1 s). It writes to a file, so
        that neither side waits for the other."""
        self._sources = tempfile.TemporaryFile()  # noqa: SIM115 - closed once it is read, or by close()
        with tempfile.TemporaryFile() as asked:
            asked.write("".join(f"{oid}\n" for oid in self._ids).encode("ascii"))
            asked.seek(0)
            self._reader = self._git.start("cat-file", "--batch", "--buffer", stdin=asked, stdout=self._sources)

    def _load(self) -> None:
        if self._reader is None:
            self.prefetch()
        assert self._reader is not None and self._sources is not None
        Git.finish(self._reader)
        with self._sources as file:
            file.seek(0)
            self._buffer = Memory(file.read())
        self._reader = self._sources = None
        self._index()
        self._loaded = True
        self._read.clear()

    def _index(self) -> None:
        at, data = 0, self._buffer.data
        for oid in self._ids:
            line_end = data.index(b"\n", at)
            header = data[at:line_end].split()
            if len(header) != 3:
                raise UserError("missing-object", oid=oid)
            start = line_end + 1
            end = start + int(header[2])
            self._starts.append(start)
            self._spans[oid] = (start, end)
            at = end + 1

    def find(self, word: str) -> dict[str, list[tuple[int, str]]]:
        """Object id to (line, text) of the lines of searched blobs that hold `word` as a whole word."""
        if not self._loaded:
            self._load()
        if word not in self._found:
            holders = dict.fromkeys(self._holders(word.encode()))
            hits = {oid: find_word(self.read(oid), word) for oid in holders}
            self._found[word] = {oid: lines for oid, lines in hits.items() if lines}
        return self._found[word]

    def _holders(self, needle: bytes) -> Iterable[str]:
        """Loaded blobs that may hold `needle` as a whole word, in order of id.

        A word takes 3 ms of reading through everything; a large change looks for a thousand, and then an index of all
        words (1 s) is made on the way.
        """
        if len(self._found) < MANY or not _WORD.fullmatch(needle):
            return self._containing(needle)
        if not self._words:
            for oid in self._ids:
                for word in set(_WORD.findall(self.read(oid))):
                    self._words.setdefault(word, []).append(oid)
        return self._words.get(needle, ())

    def _containing(self, needle: bytes) -> Iterable[str]:
        """Loaded blobs whose bytes contain `needle`; the headers between the blobs are stepped over."""
        at = self._buffer.find(needle) if needle else -1
        while at >= 0:
            i = bisect_right(self._starts, at) - 1
            if i < 0:
                at = self._buffer.find(needle, self._starts[0])
                continue
            end = self._spans[self._ids[i]][1]
            if at + len(needle) <= end:
                yield self._ids[i]
            following = self._starts[i + 1] if i + 1 < len(self._starts) else len(self._buffer.data)
            at = self._buffer.find(needle, following)
