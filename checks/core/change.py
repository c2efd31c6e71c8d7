"""A change set: two trees, what differs between them, and what the author said about it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

from checks.core.finding import Side
from checks.core.observation import DeviceObservation
from checks.core.tree import MemoryTree, OverlayTree, Tree
from checks.lang.ir.memo import WithMemo
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.source import parse


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines that were replaced, without context.

    `base_len` lines from `base_start` were removed from the base, `head_len` lines from
    `head_start` were added to the head; lines count from 1.
    """

    base_start: int
    base_len: int
    head_start: int
    head_len: int


@dataclass(frozen=True, slots=True)
class FileChange:
    """One changed path. `status` is git's letter: A, M, D, R, C, T.

    `base_path` is None for a new file and `head_path` for a deleted one. Symbolic links and
    submodules (`mode` says which) have no hunks.
    """

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
        """The number of lines added."""
        return sum(h.head_len for h in self.hunks)

    @property
    def removed(self) -> int:
        """The number of lines removed."""
        return sum(h.base_len for h in self.hunks)

    def head_lines(self) -> set[int]:
        """Lines of the head that this change added."""
        lines: set[int] = set()
        for hunk in self.hunks:
            lines.update(range(hunk.head_start, hunk.head_start + hunk.head_len))
        return lines

    def base_lines(self) -> set[int]:
        """Lines of the base that this change removed."""
        lines: set[int] = set()
        for hunk in self.hunks:
            lines.update(range(hunk.base_start, hunk.base_start + hunk.base_len))
        return lines


@dataclass(frozen=True, slots=True)
class PullRequest:
    """What the author said. Empty where it is not known (a local review without `--title`)."""

    title: str = ""
    body: str = ""
    labels: tuple[str, ...] = ()
    target_branch: str = ""
    known: bool = False


@dataclass
class ChangeSet(WithMemo):
    """`base` -> `head`. A file is parsed when a rule first asks for it, and once."""

    base: Tree
    head: Tree
    files: tuple[FileChange, ...]
    pull: PullRequest = field(default_factory=PullRequest)
    base_rev: str = ""
    head_rev: str = ""
    # Changed files that are too much work: no rule reads them, and the report says so.
    left_out: frozenset[str] = frozenset()
    # What was seen when the device code of both sides ran; nothing where it was not run.
    observations: tuple[DeviceObservation, ...] = ()
    _units: dict[tuple[Side, str], SourceFile | None] = field(default_factory=dict, repr=False)

    def tree(self, side: Side) -> Tree:
        return self.head if side is Side.HEAD else self.base

    def unit(self, path: str, side: Side = Side.HEAD) -> SourceFile | None:
        """The parsed file, or None where it does not exist or is not source that we read."""
        key = (side, path)
        if key not in self._units:
            self._units[key] = self._parse(path, side)
        return self._units[key]

    def head_unit(self, file: FileChange) -> SourceFile | None:
        """The parsed file after the change; None where it was deleted or is no source."""
        return self.unit(file.head_path) if file.head_path else None

    def base_unit(self, file: FileChange) -> SourceFile | None:
        """The parsed file before the change; None where it is new or is no source."""
        return self.unit(file.base_path, Side.BASE) if file.base_path else None

    def _parse(self, path: str, side: Side) -> SourceFile | None:
        data = self.tree(side).read(path)
        if data is None or self._is_left_out(path, side):
            return None
        # Most files that rules look at are the same on both sides, and parsing takes long.
        other_side = Side.BASE if side is Side.HEAD else Side.HEAD
        parsed = self._units.get((other_side, path))
        if parsed is not None and self.tree(other_side).read(path) == data:
            return parsed
        return parse(path, data)

    def _is_left_out(self, path: str, side: Side) -> bool:
        if not self.left_out:
            return False
        return path in self._paths_left_out[side]

    @cached_property
    def _paths_left_out(self) -> dict[Side, set[str]]:
        files = [file for file in self.files if file.path in self.left_out]
        return {
            Side.BASE: {file.base_path for file in files if file.base_path},
            Side.HEAD: {file.head_path for file in files if file.head_path},
        }

    def without(self, paths: Iterable[str]) -> ChangeSet:
        """The same change, of which no rule reads the files `paths`."""
        return replace(self, left_out=frozenset(paths), _units={})

    def changed(self, path: str) -> FileChange | None:
        """The change of `path` (as named in the head, or in the base when deleted)."""
        return self._files_by_path.get(path)

    @cached_property
    def _files_by_path(self) -> dict[str, FileChange]:
        return {file.path: file for file in self.files}

    def touches(self, path: str, start: int, end: int) -> bool:
        """Whether the change added or altered any head line in `start`..`end` of `path`."""
        starts, ends = self._written_lines(path)
        # Hunks do not overlap: of those that begin early enough the last one reaches furthest.
        last = bisect_right(starts, end) - 1
        return last >= 0 and start < ends[last]

    def _written_lines(self, path: str) -> tuple[list[int], list[int]]:
        """Where each hunk of `path` begins in the head, and where the line after it is."""

        def places() -> tuple[list[int], list[int]]:
            file = self.changed(path)
            hunks = sorted(file.hunks, key=lambda hunk: hunk.head_start) if file else []
            starts = [hunk.head_start for hunk in hunks]
            return starts, [hunk.head_start + hunk.head_len for hunk in hunks]

        return self.memo((Hunk, path), places)

    def changed_functions(self) -> Iterator[tuple[Function | None, Function | None]]:
        """(base, head) of every function in which a line was added or removed.

        One of them is None where the function exists on one side only. Removed lines are placed in
        the base tree, added lines in the head tree, then paired by qualified name. Rules want
        `checks.core.changed.changed_functions`, which leaves tests and removed functions out.
        """
        for file in self.files:
            yield from self.memo((FileChange, file.path), partial(self._function_pairs, file))

    def _function_pairs(self, file: FileChange) -> list[tuple[Function | None, Function | None]]:
        base, head = self.base_unit(file), self.head_unit(file)
        base_functions = base.functions if base is not None else ()
        head_functions = head.functions if head is not None else ()
        base_by_name = {f.qualname: f for f in base_functions}
        head_by_name = {f.qualname: f for f in head_functions}
        written = head.functions_on(file.head_lines()) if head is not None else []
        pairs: list[tuple[Function | None, Function | None]] = []
        for function in written:
            pairs.append((base_by_name.get(function.qualname), function))
        written_names = {f.qualname for f in written}
        for function in base.functions_on(file.base_lines()) if base is not None else ():
            if function.qualname not in written_names:
                pairs.append((function, head_by_name.get(function.qualname)))
        return pairs

    def as_if_added(self, paths: Iterable[str]) -> ChangeSet:
        """The same head as if the change had brought just these files, every line of them new."""
        files: list[FileChange] = []
        for path in paths:
            data = self.head.read(path) or b""
            every_line = Hunk(0, 0, 1, data.count(b"\n") + 1)
            files.append(FileChange("A", None, path, (every_line,)))
        units = {key: unit for key, unit in self._units.items() if key[0] is Side.HEAD}
        return ChangeSet(
            MemoryTree({}), self.head, tuple(files), head_rev=self.head_rev, _units=units
        )

    def with_files(self, files: dict[str, bytes]) -> ChangeSet:
        """The same change with some head files replaced; used to verify a fix."""
        units = dict(self._units)
        for path in files:
            units.pop((Side.HEAD, path), None)
        head = OverlayTree(self.head, files)
        return replace(self, head=head, _units=units)
