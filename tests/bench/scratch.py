"""Commits made for a measurement, in a repository of their own that borrows the objects of the one
under test."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path

Entry = tuple[str, str]  # (mode, object id)


class Scratch:
    """A bare repository beside `source` (which is only read); commits made here go away with its
    folder."""

    def __init__(self, folder: Path, source: Path | None = None) -> None:
        self.path = folder
        start = (
            ("clone", "--quiet", "--bare", "--shared", str(source))
            if source
            else ("init", "--quiet", "--bare")
        )
        subprocess.run(["git", *start, str(folder)], check=True)
        self._made = 0

    def git(self, *args: str) -> str:
        done = subprocess.run(["git", "-C", str(self.path), *args], check=True, capture_output=True)
        return done.stdout.decode("utf-8", "surrogateescape").strip()

    def tree(self, commit: str) -> dict[str, Entry]:
        """Path to mode and object of every file, link and submodule of `commit`."""
        entries: dict[str, Entry] = {}
        for record in self.git("ls-tree", "-r", "-z", "--full-tree", commit).split("\0"):
            meta, _, path = record.partition("\t")
            if path and '"' not in path and "\n" not in path:
                mode, _, oid = meta.split()
                entries[path] = (mode, oid)
        return entries

    def read(self, commit: str, path: str) -> bytes:
        """The contents of a file; empty where the commit does not have it."""
        command = ["git", "-C", str(self.path), "cat-file", "blob", f"{commit}:{path}"]
        return subprocess.run(command, check=False, capture_output=True).stdout

    def changed(self, base: str, head: str) -> list[str]:
        """Paths that differ, renames taken as a removal and an addition."""
        listed = self.git("diff-tree", "-r", "-z", "--no-renames", "--name-only", base, head)
        return [path for path in listed.split("\0") if path]

    def commit(self, entries: dict[str, Entry]) -> str:
        """A commit that holds exactly `entries`."""
        return self._import(
            [], (f"M {mode} {oid} {path}\n".encode() for path, (mode, oid) in entries.items())
        )

    def commit_texts(self, files: dict[str, bytes]) -> str:
        """A commit that holds exactly these texts."""
        marks = {path: n for n, path in enumerate(files, 1)}
        blobs = (b"blob\nmark :%d\ndata %d\n%s\n" % (marks[p], len(d), d) for p, d in files.items())
        return self._import(
            blobs, (b"M 100644 :%d %s\n" % (n, p.encode()) for p, n in marks.items())
        )

    def _import(self, blobs: Iterable[bytes], entries: Iterable[bytes]) -> str:
        self._made += 1
        ref = f"refs/bench/{self._made}"
        head = f"commit {ref}\ncommitter bench <bench@bench.example> 0 +0000\ndata 0\n".encode()
        stream = b"".join([*blobs, head, b"deleteall\n", *entries])
        subprocess.run(
            ["git", "-C", str(self.path), "fast-import", "--quiet"], input=stream, check=True
        )
        return self.git("rev-parse", ref)
