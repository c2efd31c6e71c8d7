"""Bare repositories on disk, served over git's own smart HTTP, and the diff that GitHub shows of
them."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_WHO = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (
        ("NAME", "Fake"),
        ("EMAIL", "fake@example.org"),
        ("DATE", "2026-01-01T00:00:00Z"),
    )
}
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


@dataclass(frozen=True)
class ShownHunk:
    """Line numbers that one hunk shows, on each side."""

    left: frozenset[int]
    right: frozenset[int]


class GitRepository:
    """A bare repository in `directory`."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        subprocess.run(
            ["git", "init", "-q", "--bare", "-b", "main", str(directory)],
            check=True,
            env=self._env(),
        )
        for name in ("uploadpack.allowFilter", "uploadpack.allowAnySHA1InWant"):
            self.run("config", name, "true")

    def _env(self, more: Mapping[str, str] = {}) -> dict[str, str]:
        kept = {k: os.environ[k] for k in ("PATH", "HOME") if k in os.environ}
        return (
            kept
            | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}
            | _WHO
            | dict(more)
        )

    def run(self, *args: str, data: str | bytes | None = None, env: Mapping[str, str] = {}) -> str:
        raw = data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data
        command = ["git", "-C", str(self.directory), *args]
        return (
            subprocess.run(command, input=raw, check=True, capture_output=True, env=self._env(env))
            .stdout.decode("utf-8", "surrogateescape")
            .removesuffix("\n")
        )

    def adopt(self, source: Path, **refs: str) -> None:
        """Take commits of another repository on this disk: `adopt(path, main="<sha>")` makes a
        branch each."""
        specs = [f"+{sha}:refs/heads/{branch}" for branch, sha in refs.items()]
        any_commit = "git -c uploadpack.allowAnySHA1InWant=true upload-pack"
        self.run("fetch", "-q", "--no-tags", f"--upload-pack={any_commit}", str(source), *specs)

    def sha(self, ref: str) -> str:
        return self.run("rev-parse", "--verify", f"{ref}^{{commit}}")

    def set_ref(self, ref: str, sha: str) -> None:
        self.run("update-ref", ref, sha)

    def commit(
        self,
        branch: str,
        files: Mapping[str, str | None],
        message: str = "A change",
        parent: str = "",
    ) -> str:
        """Commit `files` (None deletes one) on `branch`, which starts at `parent` where it is
        new."""
        ref = f"refs/heads/{branch}"
        exists = (
            subprocess.run(
                ["git", "-C", str(self.directory), "rev-parse", "-q", "--verify", ref],
                capture_output=True,
                env=self._env(),
            ).returncode
            == 0
        )
        base = self.sha(ref) if exists else self.sha(parent) if parent else ""
        index = {"GIT_INDEX_FILE": str(self.directory / "fake-index")}
        (self.directory / "fake-index").unlink(missing_ok=True)
        if base:
            self.run("read-tree", base, env=index)
        lines = ""
        for path, text in files.items():
            blob = "" if text is None else self.run("hash-object", "-w", "--stdin", data=text)
            lines += f"100644 {blob}\t{path}\n" if blob else f"0 {'0' * 40}\t{path}\n"
        self.run("update-index", "--index-info", data=lines, env=index)
        tree = self.run("write-tree", env=index)
        made = self.run("commit-tree", tree, *(("-p", base) if base else ()), "-m", message)
        self.set_ref(ref, made)
        return made

    def merge_base(self, one: str, other: str) -> str:
        return self.run("merge-base", one, other)

    def shown(self, base: str, head: str) -> dict[str, list[ShownHunk]]:
        """The diff as GitHub shows it, by the path in the head (in the base where deleted)."""
        patch = self.run(
            "-c", "core.quotePath=false", "diff", "--no-color", "-M", "-U3", f"{base}...{head}"
        )
        files: dict[str, list[ShownHunk]] = {}
        old = path = ""
        lines = patch.split("\n")
        i = 0
        while i < len(lines):
            line = lines[i]
            i += 1
            if line.startswith("--- "):
                old = line[6:]
            elif line.startswith("+++ "):
                path = old if line == "+++ /dev/null" else line[6:]
                files.setdefault(path, [])
            elif match := _HUNK.match(line):
                i, hunk = _hunk(lines, i, match)
                files[path].append(hunk)
        return files

    def http(
        self, method: str, path: str, query: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, dict[str, str], bytes]:
        """One request of git's smart HTTP, through `git http-backend`; `path` is what follows the
        repository's name."""
        env = {
            "GIT_PROJECT_ROOT": str(self.directory.parent),
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": f"/{self.directory.name}{path}",
            "REQUEST_METHOD": method,
            "QUERY_STRING": query,
            "CONTENT_TYPE": headers.get("content-type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": headers.get("content-encoding", ""),
            "GIT_PROTOCOL": headers.get("git-protocol", ""),
        }
        done = subprocess.run(
            ["git", "http-backend"],
            input=body,
            capture_output=True,
            env=self._env(env),
            check=False,
        )
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line)
        status = int(fields.pop("Status", "200").split()[0])
        return status, fields, content


def _hunk(lines: list[str], at: int, match: re.Match[str]) -> tuple[int, ShownHunk]:
    left_at, left_len, right_at, right_len = (int(g) if g else 1 for g in match.groups())
    left, right = set[int](), set[int]()
    left_end, right_end = left_at + left_len, right_at + right_len
    while left_at < left_end or right_at < right_end:
        kind = lines[at][:1]
        at += 1
        if kind in (" ", "-", ""):
            left.add(left_at)
            left_at += 1
        if kind in (" ", "+", ""):
            right.add(right_at)
            right_at += 1
    return at, ShownHunk(frozenset(left), frozenset(right))
