"""The contents of a repository's files, read through `git cat-file --batch` and searched in
memory."""

from __future__ import annotations

import re
import subprocess
import tempfile
from bisect import bisect_right
from collections.abc import Iterator, Set
from typing import IO

from bot.errors import UserError
from bot.git.command import Git, raise_git_error
from checks.core.words import as_bytes, find_word, find_word_start

# As many searches take as long as making an index of all words.
_MOST_SEARCHES = 500
_ONE_WORD = re.compile(rb"[A-Za-z0-9_]+")


class BlobStore:
    """Blobs by object id, shared by the base and the head tree. Close it, or use it in a `with`."""

    def __init__(self, git: Git) -> None:
        self._git = git
        self._reader: subprocess.Popen[bytes] | None = None
        self._contents: dict[str, bytes] = {}
        # The ids of the sources that are searched, by language; `load` joins their contents.
        self._searched: dict[str, list[str]] = {}
        self._joined: dict[str, _JoinedBlobs] = {}
        self._prefetch: _Prefetch | None = None
        self._loaded = True
        self._holders: dict[tuple[str, str], list[str]] = {}

    def __enter__(self) -> BlobStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the git processes; what was read stays readable."""
        if self._reader is not None:
            self._reader.kill()
            self._reader.communicate()
            self._reader = None
        if self._prefetch is not None:
            self._prefetch.close()
            self._prefetch = None

    def read(self, oid: str) -> bytes:
        """The bytes of one blob. Raises `UserError` where the repository does not have it."""
        if oid not in self._contents:
            self._contents[oid] = self._read_one(oid)
        return self._contents[oid]

    def _read_one(self, oid: str) -> bytes:
        if self._reader is None:
            self._reader = self._git.start("cat-file", "--batch")
        process = self._reader
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(oid.encode() + b"\n")
        process.stdin.flush()
        header = process.stdout.readline()
        if not header:
            raise_git_error(process.stderr.read())
        size = _size_in(header, oid)
        return process.stdout.read(size + 1)[:-1]

    def search_in(self, sources: Set[tuple[str, str]]) -> None:
        """Name the blobs that are searched, each with the language of the files that hold it.

        One blob may stand in files of several languages.
        """
        self._searched = {}
        for oid, language in sorted(sources):
            self._searched.setdefault(language, []).append(oid)
        self._loaded = False

    def prefetch(self) -> None:
        """Let git read those blobs while this process does something else."""
        every_oid = {oid for oids in self._searched.values() for oid in oids}
        self._prefetch = _Prefetch(self._git, sorted(every_oid))

    def load(self) -> None:
        """Have the searched blobs in memory."""
        if self._loaded:
            return
        if self._prefetch is None:
            self.prefetch()
        assert self._prefetch is not None
        self._contents.update(self._prefetch.contents())
        self._prefetch = None
        for language, oids in self._searched.items():
            self._joined[language] = _JoinedBlobs(oids, self._contents)
        self._loaded = True

    def find(self, word: str, language: str) -> Iterator[tuple[str, list[tuple[int, str]]]]:
        """(object id, its lines as (number, text)) of each blob of `language` that holds `word` as
        a whole word; of every language, where `language` is empty."""
        for oid in self.blobs_containing(word, language):
            yield oid, find_word(self.read(oid), word)

    def blobs_containing(self, word: str, language: str) -> list[str]:
        """The blobs that `find` gives lines of."""
        self.load()
        if language:
            return self._blobs_of_language(word, language)
        oids: list[str] = []
        for each in self._joined:
            oids += self._blobs_of_language(word, each)
        return list(dict.fromkeys(oids))

    def _blobs_of_language(self, word: str, language: str) -> list[str]:
        key = (word, language)
        # Rules ask for the same names again and again, and each time all sources are searched.
        if key not in self._holders:
            joined = self._joined.get(language)
            self._holders[key] = [] if joined is None else joined.holders(as_bytes(word))
        return self._holders[key]


class _JoinedBlobs:
    """Many blobs one after the other: a word is sought in all of them by one call.

    Each search reads everything. After as many as an index costs, one is made, and further words
    cost nothing: a change with thousands of functions asks for thousands of names.
    """

    def __init__(self, oids: list[str], contents: dict[str, bytes]) -> None:
        self._oids = oids
        # Where each blob begins. No word goes on over the newline between two of them.
        self._starts: list[int] = []
        start = 0
        for oid in oids:
            self._starts.append(start)
            start += len(contents[oid]) + 1
        self._data = b"".join([contents[oid] + b"\n" for oid in oids])
        self._searches = 0
        self._index: dict[bytes, list[str]] | None = None

    def holders(self, needle: bytes) -> list[str]:
        """The blobs that hold `needle` as a whole word."""
        self._searches += 1
        if self._searches > _MOST_SEARCHES and _ONE_WORD.fullmatch(needle):
            if self._index is None:
                self._index = self._make_index()
            return list(self._index.get(needle, ()))
        return self._search(needle)

    def _make_index(self) -> dict[bytes, list[str]]:
        """The blobs by every word that stands in them."""
        index: dict[bytes, list[str]] = {}
        ends = [*self._starts[1:], len(self._data)]
        for oid, start, end in zip(self._oids, self._starts, ends, strict=True):
            for word in set(_ONE_WORD.findall(self._data, start, end)):
                index.setdefault(word, []).append(oid)
        return index

    def _search(self, needle: bytes) -> list[str]:
        holders: list[str] = []
        if not needle:
            return holders
        start = find_word_start(self._data, needle, 0)
        while start >= 0:
            blob = bisect_right(self._starts, start) - 1
            holders.append(self._oids[blob])
            if blob + 1 == len(self._oids):
                break
            start = find_word_start(self._data, needle, self._starts[blob + 1])
        return holders


class _Prefetch:
    """A git that reads many blobs. It writes to a file, so that neither side waits for the
    other."""

    def __init__(self, git: Git, oids: list[str]) -> None:
        self._oids = oids
        self._output: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - `close` closes it
        with tempfile.TemporaryFile() as names:
            names.write("".join(f"{oid}\n" for oid in oids).encode("ascii"))
            names.seek(0)
            self._process = git.start(
                "cat-file", "--batch", "--buffer", stdin=names, stdout=self._output
            )

    def close(self) -> None:
        """End it, whether or not it is done."""
        self._process.kill()
        self._process.communicate()
        self._output.close()

    def contents(self) -> dict[str, bytes]:
        """The blobs by object id. Raises `UserError` where git fails or does not have one."""
        Git.finish(self._process)
        contents = {}
        with self._output as file:
            file.seek(0)
            for oid in self._oids:
                size = _size_in(file.readline(), oid)
                contents[oid] = file.read(size)
                file.read(1)  # the newline after each blob
        return contents


def _size_in(header: bytes, oid: str) -> int:
    """The size that the header `<oid> blob <size>` gives; of a missing object it is `<oid>
    missing`."""
    fields = header.split()
    if len(fields) != 3:
        raise UserError("missing-object", oid=oid)
    return int(fields[2])
