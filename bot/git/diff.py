"""What differs between two trees, from `git diff-tree`: the files from its raw form, the hunks from
its patch."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

from bot.git.command import Git, GitJob
from checks.core.change import FileChange, Hunk

# Plumbing with every choice spelled out. Myers with the indent heuristic is what GitHub shows, and
# comments are placed on its lines.
_OPTIONS = (
    "-r",
    "-M50%",
    "-l1000",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--no-relative",
    "--ignore-submodules=none",
    "--diff-algorithm=myers",
    "--indent-heuristic",
    "--full-index",
    "-O" + os.devnull,
)
_PATCH = ("--patch", "--unified=0", "--inter-hunk-context=0", "--src-prefix=a/", "--dst-prefix=b/")
_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_MODES = {"120000": "symlink", "160000": "submodule"}
_NULL = "000000"


@dataclass(frozen=True, slots=True)
class _Raw:
    old_mode: str
    new_mode: str
    status: str
    old_path: str
    new_path: str

    @property
    def mode(self) -> str:
        """What the head has, or the base for a deleted path."""
        mode = self.old_mode if self.new_mode == _NULL else self.new_mode
        return _MODES.get(mode, "file")

    @property
    def sections(self) -> int:
        """How many `diff --git` headers git prints for it: a change of type is a removal and an
        addition."""
        return 2 if self.status == "T" else 1


@dataclass(frozen=True, slots=True)
class _Section:
    hunks: tuple[Hunk, ...]
    binary: bool


def start_diff(git: Git, base: str, head: str) -> tuple[GitJob, GitJob]:
    """Git at work on what `read_diff` reads: the list of files, and the patch."""
    listing = GitJob(git, "diff-tree", "--raw", "-z", *_OPTIONS, base, head)
    patch = GitJob(git, "diff-tree", *_PATCH, *_OPTIONS, base, head)
    return listing, patch


def read_diff(listing: GitJob, patch: GitJob) -> tuple[FileChange, ...]:
    """Every path that differs between the two trees that are compared, in git's order (by path)."""
    raws = list(_raws(listing.output()))
    sections = _sections(patch.output())
    files = []
    for raw in raws:
        own_sections = [next(sections) for _ in range(raw.sections)]
        files.append(_change(raw, own_sections))
    if next(sections, None) is not None:
        raise ValueError("git printed a patch for a file that it did not list")
    return tuple(files)


def _raws(data: bytes) -> Iterator[_Raw]:
    fields = iter(data.split(b"\0")[:-1])
    for record in fields:
        old_mode, new_mode, _, _, status = record.decode("ascii").removeprefix(":").split(" ")
        old = new = os.fsdecode(next(fields))
        if status[0] in "RC":
            new = os.fsdecode(next(fields))
        yield _Raw(old_mode, new_mode, status[0], old, new)


def _change(raw: _Raw, sections: list[_Section]) -> FileChange:
    hunks = sections[-1].hunks if raw.mode == "file" else ()
    return FileChange(
        status=raw.status,
        base_path=None if raw.status == "A" else raw.old_path,
        head_path=None if raw.status == "D" else raw.new_path,
        hunks=hunks,
        binary=any(section.binary for section in sections),
        mode=raw.mode,
    )


def _sections(patch: bytes) -> Iterator[_Section]:
    """The hunks of each file in turn. File names are not read here: the raw form has them without
    quoting."""
    at, end = 0, len(patch)
    while at < end:
        at = _line_end(patch, at)
        hunks: list[Hunk] = []
        binary = False
        while at < end and not patch.startswith(b"diff --git ", at):
            match = _HUNK.match(patch, at)
            line_end = _line_end(patch, at)
            if match is None:
                binary = binary or patch.startswith(b"Binary files ", at)
                at = line_end
                continue
            hunks.append(_hunk(match))
            at = _skip(patch, line_end, hunks[-1].base_len + hunks[-1].head_len)
        yield _Section(tuple(hunks), binary)


def _hunk(match: re.Match[bytes]) -> Hunk:
    """Git names the line *before* an empty side; here a side always starts where its lines would
    stand."""
    # A length that is left out is one.
    base, base_len, head, head_len = (int(group or 1) for group in match.groups())
    base_start = base if base_len else base + 1
    head_start = head if head_len else head + 1
    return Hunk(base_start, base_len, head_start, head_len)


def _skip(patch: bytes, at: int, lines: int) -> int:
    """The offset after `lines` changed lines and their "no newline at end of file" notes."""
    while lines:
        if not patch.startswith(b"\\", at):
            lines -= 1
        at = _line_end(patch, at)
    while patch.startswith(b"\\", at):
        at = _line_end(patch, at)
    return at


def _line_end(data: bytes, at: int) -> int:
    """The offset after the line that begins at `at`."""
    newline = data.find(b"\n", at)
    return len(data) if newline < 0 else newline + 1
