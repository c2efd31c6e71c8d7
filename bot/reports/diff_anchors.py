"""Where a comment may stand: GitHub takes only lines that its own view of the diff shows.

That view has three lines of context; lines that were added or are context count in the head
(`RIGHT`), removed lines in the base (`LEFT`), and a comment on several lines must keep within one
hunk. One comment in a wrong place makes GitHub refuse the whole review, so what does not fit is not
placed.
"""

from __future__ import annotations

from dataclasses import dataclass

from checks.core.change import ChangeSet, FileChange, Hunk
from checks.core.finding import Edit, Finding, Location, Side

_CONTEXT = 3


@dataclass(frozen=True, slots=True)
class Anchor:
    """Lines `start`..`line` of `path`, both shown by the diff.

    `side` is GitHub's word: RIGHT or LEFT.
    """

    path: str
    start: int
    line: int
    side: str


@dataclass(frozen=True, slots=True)
class _Shown:
    """One hunk as GitHub shows it: the head lines from `first` to `last`, and the removed base
    lines in it.
    """

    first: int
    last: int
    removed: tuple[tuple[int, int], ...]


class Anchors:
    """The places for comments on one change."""

    def __init__(self, change: ChangeSet) -> None:
        self._change = change
        self._shown: dict[str, tuple[_Shown, ...]] = {}
        self._renamed = {f.base_path: f.path for f in change.files if f.base_path}

    def of(self, finding: Finding) -> Anchor | None:
        """Where the finding's comment goes, or None where the diff does not show its lines."""
        place = finding.location
        if place.side is Side.HEAD:
            return self._right(place.path, place.start_line, place.end_line)
        return self._left(place)

    def of_edit(self, edit: Edit) -> Anchor | None:
        """The exact lines of an edit: a suggestion replaces what it is anchored to, no more and no
        less.
        """
        for shown in self.hunks(edit.path):
            if shown.first <= edit.start_line and edit.end_line <= shown.last:
                return Anchor(edit.path, edit.start_line, edit.end_line, "RIGHT")
        return None

    def _right(self, path: str, start: int, end: int) -> Anchor | None:
        """The lines themselves, or the part of them that the first hunk they meet shows."""
        if start < 1:
            return None
        for shown in self.hunks(path):
            first, last = max(start, shown.first), min(end, shown.last)
            if first <= last:
                return Anchor(path, first, last, "RIGHT")
        return None

    def _left(self, place: Location) -> Anchor | None:
        path = self._renamed.get(place.path, place.path)
        for shown in self.hunks(path):
            for start, end in shown.removed:
                first, last = max(place.start_line, start), min(place.end_line, end)
                if first <= last:
                    return Anchor(path, first, last, "LEFT")
        return None

    def hunks(self, path: str) -> tuple[_Shown, ...]:
        """The hunks of `path` (its name in the head, or in the base when deleted) as GitHub shows
        them.
        """
        if path not in self._shown:
            file = self._change.changed(path)
            usable = file is not None and file.hunks and not file.binary and _has_a_name(path)
            self._shown[path] = self._of_file(file) if file is not None and usable else ()
        return self._shown[path]

    def _of_file(self, file: FileChange) -> tuple[_Shown, ...]:
        data = self._change.head.read(file.head_path) if file.head_path else b""
        lines = _line_count(data or b"")
        return tuple(_shown(group, lines) for group in _groups(file.hunks))


def _has_a_name(path: str) -> bool:
    """Whether JSON can name `path`: git's may hold bytes that are no UTF-8."""
    return not any("\ud800" <= char <= "\udfff" for char in path)


def _groups(hunks: tuple[Hunk, ...]) -> list[list[Hunk]]:
    """Hunks that git shows as one: their contexts meet or overlap."""
    groups: list[list[Hunk]] = []
    for hunk in hunks:
        last = groups[-1][-1] if groups else None
        if last is not None and hunk.head_start - (last.head_start + last.head_len) <= 2 * _CONTEXT:
            groups[-1].append(hunk)
        else:
            groups.append([hunk])
    return groups


def _shown(group: list[Hunk], lines: int) -> _Shown:
    first = max(1, group[0].head_start - _CONTEXT)
    last = min(lines, group[-1].head_start + group[-1].head_len - 1 + _CONTEXT)
    removed = tuple((h.base_start, h.base_start + h.base_len - 1) for h in group if h.base_len)
    return _Shown(first, last, removed)


def _line_count(data: bytes) -> int:
    return data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
