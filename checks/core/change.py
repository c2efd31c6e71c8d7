"""A change set: two trees, what differs between them, and what the author said about it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from checks.core.finding import Side
from checks.core.tree import MemoryTree, OverlayTree, Tree
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.source import parse

T = TypeVar("T")

_UNTOUCHED: tuple[list[int], list[int]] = ([], [])


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines removed from the base (`base_len` from `base_start`) and added to the head, without context."""

    base_start: int
    base_len: int
    head_start: int
    head_len: int


@dataclass(frozen=True, slots=True)
class FileChange:
    """One changed path. `status` is git's letter: A, M, D, R, C, T. Symbolic links and submodules have no hunks."""

    status: str
    base_path: str | None
    head_path: str | None
    hunks: tuple[Hunk, ...] = ()
    binary: bool = False
    mode: str = "file"

    @property
    def path(self) -> str:
        """The path in the head, or in the base for a deleted file."""
        path = self.head_path or self.base_path
        assert path is not None
        return path

    @property
    def added(self) -> int:
        return sum(h.head_len for h in self.hunks)

    @property
    def removed(self) -> int:
        return sum(h.base_len for h in self.hunks)

    def head_lines(self) -> set[int]:
        """Lines of the head that this change added."""
        return {n for h in self.hunks for n in range(h.head_start, h.head_start + h.head_len)}

    def base_lines(self) -> set[int]:
        """Lines of the base that this change removed."""
        return {n for h in self.hunks for n in range(h.base_start, h.base_start + h.base_len)}


@dataclass(frozen=True, slots=True)
class PullRequest:
    """What the author said. Empty where it is not known (a local review without `--title`)."""

    title: str = ""
    body: str = ""
    labels: tuple[str, ...] = ()
    target_branch: str = ""
    known: bool = False


@dataclass
class ChangeSet:
    """`base` -> `head`. Parsing is lazy and cached, so cost follows what the rules look at."""

    base: Tree
    head: Tree
    files: tuple[FileChange, ...]
    pull: PullRequest = field(default_factory=PullRequest)
    base_rev: str = ""
    head_rev: str = ""
    _units: dict[tuple[Side, str], SourceFile | None] = field(default_factory=dict, repr=False)
    _memo: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def tree(self, side: Side) -> Tree:
        return self.head if side is Side.HEAD else self.base

    def unit(self, path: str, side: Side = Side.HEAD) -> SourceFile | None:
        """The parsed file, or None where it does not exist or is not source that we read."""
        key = (side, path)
        if key not in self._units:
            self._units[key] = self._parse(path, side)
        return self._units[key]

    def _parse(self, path: str, side: Side) -> SourceFile | None:
        data = self.tree(side).read(path)
        if data is None:
            return None
        other = self._other(side)
        twin = self._units.get((other, path))
        if twin is not None and self.tree(other).read(path) == data:
            return twin
        return parse(path, data)

    @staticmethod
    def _other(side: Side) -> Side:
        return Side.BASE if side is Side.HEAD else Side.HEAD

    def memo(self, key: Hashable, make: Callable[[], T]) -> T:
        """What `make` gives, made the first time `key` is asked for: what several rules derive from this change."""
        if key not in self._memo:
            self._memo[key] = make()
        made: T = self._memo[key]
        return made

    def changed(self, path: str) -> FileChange | None:
        """The change of `path` (as named in the head, or in the base when deleted)."""
        return self._by_path.get(path)

    @cached_property
    def _by_path(self) -> dict[str, FileChange]:
        return {f.path: f for f in self.files}

    def touches(self, path: str, start: int, end: int) -> bool:
        """Whether the change added or altered any head line in `start`..`end` of `path`."""
        starts, ends = self._spans.get(path, _UNTOUCHED)
        last = bisect_right(starts, end)
        return last > 0 and ends[last - 1] > start

    @cached_property
    def _spans(self) -> dict[str, tuple[list[int], list[int]]]:
        """Where the hunks of each path start in the head, and the lines after them, in order."""
        return {
            f.path: ([h.head_start for h in f.hunks], [h.head_start + h.head_len for h in f.hunks])
            for f in self.files
        }

    def changed_functions(self) -> Iterator[tuple[Function | None, Function | None]]:
        """(base, head) of every function in which a line was added or removed; None where it does not exist.

        Removed lines are placed in the base tree, added lines in the head tree, then paired by qualified name.
        """
        for change in self.files:
            yield from self.memo((FileChange, change.path), lambda c=change: [*self._changed_in(c)])  # type: ignore[misc]

    def _changed_in(self, change: FileChange) -> Iterator[tuple[Function | None, Function | None]]:
        head = self.unit(change.head_path) if change.head_path else None
        base = self.unit(change.base_path, Side.BASE) if change.base_path else None
        added, removed = sorted(change.head_lines()), sorted(change.base_lines())
        touched = [
            f
            for f in (head.functions if head else ())
            if any_line_in(added, f.start_line, f.end_line)
        ]
        names = {f.qualname for f in touched}
        touched_base = [
            f
            for f in (base.functions if base else ())
            if any_line_in(removed, f.start_line, f.end_line)
        ]
        old = {f.qualname: f for f in (base.functions if base else ())}
        new = {f.qualname: f for f in (head.functions if head else ())}
        for function in touched:
            yield old.get(function.qualname), function
        for function in touched_base:
            if function.qualname not in names:
                yield function, new.get(function.qualname)

    def as_if_added(self, paths: Iterable[str]) -> ChangeSet:
        """The same head as if the change had brought these files, every line of them new, and nothing else."""
        files = []
        for path in paths:
            count = (self.head.read(path) or b"").count(b"\n") + 1
            files.append(FileChange("A", None, path, (Hunk(0, 0, 1, count),)))
        units = {key: unit for key, unit in self._units.items() if key[0] is Side.HEAD}
        return ChangeSet(
            MemoryTree({}), self.head, tuple(files), head_rev=self.head_rev, _units=units
        )

    def with_files(self, files: dict[str, bytes]) -> ChangeSet:
        """The same change with some head files replaced; used to verify a fix."""
        head = OverlayTree(self.head, files)
        units = {k: u for k, u in self._units.items() if not (k[0] is Side.HEAD and k[1] in files)}
        return ChangeSet(
            self.base, head, self.files, self.pull, self.base_rev, self.head_rev, units
        )


def any_line_in(lines: Sequence[int], first: int, last: int) -> bool:
    """Whether one of `lines`, which are in order, is one of `first` to `last`."""
    place = bisect_left(lines, first)
    return place < len(lines) and lines[place] <= last
