"""What git knows of a change's past, asked for before it is needed: git reads while the change is reviewed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass

from bot.git.command import Git, GitJob
from bot.git.diff import compare, diff
from bot.git.revisions import Range
from checks.core.change import ChangeSet, FileChange
from checks.lang.source import language

_MOST_FILES = 8
# One walk for all files. A merge is named where it made a file unlike that of each parent.
_BY_FILE = ("--no-renames", "--name-only", "-c", "--format=%x00%H %s")


@dataclass(frozen=True, slots=True)
class HistoryQueries:
    """Questions that git is at work on. `commits`: id, parents and subject of every commit, the newest first; `said`:
    the message of `head` and of each commit since `base`, ended by a NUL; `touched`: who touched `files`; `blames`: who
    wrote the lines that went from each."""

    git: Git
    compared: Range
    files: tuple[FileChange, ...]
    head: GitJob
    said: GitJob
    commits: GitJob
    touched: GitJob | None
    blames: tuple[GitJob, ...]


@contextmanager
def prefetch(git: Git, compared: Range, change: ChangeSet) -> Iterator[HistoryQueries]:
    """Let git look into the past of `change`, as long as this is open."""
    files = _telling(change.files)
    paths = [f.base_path or "" for f in files]
    with ExitStack() as held:

        def ask(*args: str) -> GitJob:
            return held.enter_context(closing(GitJob(git, *args)))

        yield HistoryQueries(
            git,
            compared,
            files,
            head=ask("log", "-1", "--format=%B", compared.head),
            said=ask("log", "--format=%B", f"{compared.base}..{compared.head}"),
            commits=ask("log", "--all", "--format=%H%x00%P%x00%s", compared.head),
            touched=ask("log", *_BY_FILE, compared.base, "--", *paths) if paths else None,
            blames=tuple(
                ask("blame", "-l", "-s", *_ranges(f), compared.base, "--", f.base_path or "")
                for f in files
            ),
        )


def files_with_history(git: Git, compared: Range) -> list[str]:
    """The files of base whose past `asked` has git read."""
    return [f.base_path or "" for f in _telling(diff(*compare(git, compared.base, compared.head)))]


def _telling(changed: Iterable[FileChange]) -> tuple[FileChange, ...]:
    """The changed source files that lost most lines: whose past says most."""
    files = [
        f
        for f in changed
        if f.base_path and f.removed and f.mode == "file" and language(f.base_path)
    ]
    return tuple(sorted(files, key=lambda f: (-f.removed, f.path))[:_MOST_FILES])


def _ranges(file: FileChange) -> Iterable[str]:
    for hunk in file.hunks:
        if hunk.base_len:
            yield from ("-L", f"{hunk.base_start},{hunk.base_start + hunk.base_len - 1}")
