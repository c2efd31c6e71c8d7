"""Bug fixes of a history, each with the commit that wrote what it replaced.

PyDriller names only the commits, drops the lines that `git blame` gives with them, does not follow
moved lines, and writes into the configuration of the repository that it reads.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bot.errors import UserError
from bot.git.command import Git
from bot.git.diff import read_diff, start_diff
from bot.git.revisions import object_id
from checks.core.change import FileChange
from checks.core.config import Config
from checks.evaluation.code_lines import code_lines
from checks.evaluation.fixes import (
    MOST_FILES,
    MOST_FILES_OF_A_CHANGE,
    MOST_LINES,
    FixPair,
    LineOrigin,
    count_code,
    is_bug_fix,
    lines_beside,
    main_commit,
    place_of,
    product_files,
    replaced_lines,
)
from checks.lang.source import parse

# Lines that moved within a file, or from one that the same commit changed, keep their author.
_BLAME = ("blame", "--line-porcelain", "-w", "-M", "-C")


@dataclass(frozen=True, slots=True)
class HistoryFilter:
    """Which commits are looked at: those that touch `paths`, from day `since` to day `until`.

    With `oldest`, a commit, what was written up to it counts as written by it: `git blame` need not
    go back to the beginning, which takes seconds for a file of a long history.
    """

    paths: tuple[str, ...] = ()
    since: str = ""
    until: str = ""
    oldest: str = ""

    @property
    def log_options(self) -> tuple[str, ...]:
        options = ["--no-merges"]
        if self.since:
            options.append(f"--since={self.since}T00:00:00Z")
        if self.until:
            options.append(f"--until={self.until}T00:00:00Z")
        return tuple(options)


@dataclass(frozen=True, slots=True)
class LoggedCommit:
    """A commit of the log; `day` is when it came into this history, `files` are their paths."""

    id: str
    day: str
    title: str
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _TouchedFile:
    """A file of a fix with its lines of code before and after."""

    change: FileChange
    base: set[int]
    head: set[int]


def logged_commits(git: Git, wanted: HistoryFilter) -> list[LoggedCommit]:
    """The commits of HEAD's history, in an order that is by chance but always the same."""
    log = git.run(
        "log",
        *wanted.log_options,
        "--no-renames",
        "--name-only",
        "--format=%x00%H%x01%cs%x01%s",
        "HEAD",
        "--",
        *wanted.paths,
    )
    commits = []
    for record in log.decode("utf-8", "replace").split("\0")[1:]:
        header, *paths = record.split("\n")
        name, day, title = header.split("\x01", 2)
        commits.append(LoggedCommit(name, day, title, tuple(path for path in paths if path)))
    return sorted(commits, key=lambda commit: hashlib.sha256(commit.id.encode()).digest())


def mine_pairs(
    git: Git, repository: str, config: Config, wanted: HistoryFilter
) -> Iterator[FixPair]:
    """The pair of every fix that has one, in the order of `logged_commits`."""
    for commit in logged_commits(git, wanted):
        files = product_files(commit.files, config)
        if is_bug_fix(commit.title) and 0 < len(files) <= MOST_FILES:
            pair = _readable_pair(git, repository, commit, files, wanted.oldest)
            if pair is not None:
                yield pair


def _readable_pair(
    git: Git, repository: str, commit: LoggedCommit, paths: Sequence[str], oldest: str
) -> FixPair | None:
    """The pair of a fix; None also where the clone lacks a file that is needed for it."""
    try:
        return _pair(git, repository, commit, paths, oldest)
    except UserError:
        return None


def _pair(
    git: Git, repository: str, commit: LoggedCommit, paths: Sequence[str], oldest: str
) -> FixPair | None:
    parent = object_id(git, f"{commit.id}^")
    if parent is None:
        return None
    files = list(_touched_files(git, parent, commit.id, paths))
    if sum(count_code(file.change, file.base, file.head) for file in files) > MOST_LINES:
        return None
    revisions = [parent, f"^{oldest}"] if oldest else [parent]
    origins = list(_origins(git, revisions, files, replaced=True))
    replaced = bool(origins)
    if not replaced:
        origins = list(_origins(git, revisions, files, replaced=False))
    if not origins:
        return None
    head = main_commit(origins)
    base = _only_parent(git, head)
    if base is None or not _is_reviewable(git, base, head):
        return None
    places = []
    for origin in origins:
        if origin.commit == head:
            data = git.attempt("cat-file", "blob", f"{head}:{origin.path}")
            places.append(place_of(origin, parse(origin.path, data) if data else None))
    title = git.run("log", "-1", "--format=%s", head).decode("utf-8", "replace").strip()
    return FixPair(
        repository,
        commit.id,
        commit.day,
        commit.title,
        base,
        head,
        title,
        replaced,
        tuple(dict.fromkeys(places)),
    )


def _touched_files(git: Git, base: str, head: str, paths: Sequence[str]) -> Iterator[_TouchedFile]:
    """The files that the fix changed; one that it wrote or removed had no bug to mend."""
    for file in read_diff(*start_diff(git, base, head)):
        if file.base_path is None or file.head_path is None or file.mode != "file":
            continue
        if file.head_path not in paths:
            continue
        before = _text(git, base, file.base_path)
        after = _text(git, head, file.head_path)
        yield _TouchedFile(
            file, code_lines(file.base_path, before), code_lines(file.head_path, after)
        )


def _text(git: Git, revision: str, path: str) -> str:
    data = git.run("cat-file", "blob", f"{revision}:{path}")
    return data.decode("utf-8", "replace")


def _origins(
    git: Git, revisions: Sequence[str], files: Sequence[_TouchedFile], *, replaced: bool
) -> Iterator[LineOrigin]:
    """Where the lines were written that the fix replaced, or that stand beside what it added."""
    for file in files:
        if replaced:
            lines = replaced_lines(file.change, file.base)
        else:
            lines = lines_beside(file.change, file.base, file.head)
        if lines and file.change.base_path is not None:
            yield from _blame(git, revisions, file.change.base_path, lines)


def _blame(
    git: Git, revisions: Sequence[str], path: str, lines: Sequence[int]
) -> Iterator[LineOrigin]:
    ranges = [f"-L{line},{line}" for line in lines]
    blamed = git.run(*_BLAME, *ranges, *revisions, "--", path)
    commit, number = "", 0
    for line in blamed.split(b"\n"):
        if line.startswith(b"\t"):
            commit = ""
        elif not commit:
            fields = line.decode("ascii", "replace").split(" ")
            if len(fields) >= 3:
                commit, number = fields[0], int(fields[1])
        elif line.startswith(b"filename "):
            yield LineOrigin(commit, os.fsdecode(line.removeprefix(b"filename ")), number)


def _only_parent(git: Git, commit: str) -> str | None:
    """The parent of a commit; None for a merge, and for the first of a history."""
    parents = git.run("log", "-1", "--format=%P", commit).decode("ascii").split()
    return parents[0] if len(parents) == 1 else None


def _is_reviewable(git: Git, base: str, head: str) -> bool:
    files = git.run("diff-tree", "-r", "--name-only", base, head)
    return files.count(b"\n") <= MOST_FILES_OF_A_CHANGE
