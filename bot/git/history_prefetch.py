"""What git knows of a change's past, asked for before it is needed: git reads while the change is
reviewed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass

from bot.git.command import Git, GitJob
from bot.git.diff import read_diff, start_diff
from bot.git.revisions import Range
from checks.core.change import ChangeSet, FileChange
from checks.lang.source import language

_MOST_FILES = 8
# One walk for all files. A merge is named where it made a file unlike that of each parent.
_BY_FILE = ("--no-renames", "--name-only", "-c", "--format=%x00%H %s")


@dataclass(frozen=True, slots=True)
class HistoryQueries:
    """Questions that git is at work on.

    `commits`: id, parents and subject of every commit, the newest first. `messages`: the messages
    of all commits from `base` to `head`, and `head_message` that of `head`. `touched`: who touched
    `files`. `blames`: who wrote the lines that went from each of them.
    """

    git: Git
    compared: Range
    files: tuple[FileChange, ...]
    head_message: GitJob
    messages: GitJob
    commits: GitJob
    touched: GitJob | None
    blames: tuple[GitJob, ...]


@contextmanager
def prefetch(git: Git, compared: Range, change: ChangeSet) -> Iterator[HistoryQueries]:
    """Let git look into the past of `change`, as long as this is open."""
    files = _most_changed(change.files)
    paths = [file.base_path or "" for file in files]
    base, head = compared.base, compared.head
    with ExitStack() as stack:

        def start(*args: str) -> GitJob:
            return stack.enter_context(closing(GitJob(git, *args)))

        touched = start("log", *_BY_FILE, base, "--", *paths) if paths else None
        blames = []
        for file, path in zip(files, paths, strict=True):
            blames.append(start("blame", "-l", "-s", *_removed_ranges(file), base, "--", path))
        yield HistoryQueries(
            git,
            compared,
            files,
            head_message=start("log", "-1", "--format=%B", head),
            messages=start("log", "--format=%B", f"{base}..{head}"),
            commits=start("log", "--all", "--format=%H%x00%P%x00%s", head),
            touched=touched,
            blames=tuple(blames),
        )


def files_with_history(git: Git, compared: Range) -> list[str]:
    """The files of base whose past `prefetch` has git read."""
    files = read_diff(*start_diff(git, compared.base, compared.head))
    return [file.base_path or "" for file in _most_changed(files)]


def _most_changed(files: Iterable[FileChange]) -> tuple[FileChange, ...]:
    """The source files that lost most lines: their past says most."""
    sources = []
    for file in files:
        is_source = file.mode == "file" and file.base_path and language(file.base_path)
        if is_source and file.removed:
            sources.append(file)
    sources.sort(key=lambda file: (-file.removed, file.path))
    return tuple(sources[:_MOST_FILES])


def _removed_ranges(file: FileChange) -> Iterator[str]:
    """The lines that went, as options of `git blame`."""
    for hunk in file.hunks:
        if hunk.base_len:
            last = hunk.base_start + hunk.base_len - 1
            yield from ("-L", f"{hunk.base_start},{last}")
