"""How much of a change is analysed: a budget in work, so that the same change always gets the same
report, on a slow machine too.

A review costs about as much as the functions that a change touches, and less for all else in
their files, which is read too. What does not fit is left out whole, file by file, and the report
says so.
"""

from __future__ import annotations

from collections.abc import Iterable

from checks.core.change import ChangeSet, FileChange
from checks.lang.source import language

# In touched lines: about 13,000 functions that are new, and half a minute.
MOST_WORK = 450_000
# What looking at one function costs beside its lines.
_FUNCTION = 20
# Bytes that are read, of either side, for what one line costs: one changed line in a file of 2 MB
# takes several seconds.
_READ = 48
# Bytes of touched lines that cost as much as one: a table of numbers may be a single line.
_LONG = 24
# What a function begins with, in each language. Blocks count too: that they are many costs as well.
_OPENINGS = {"python": b"def ", "cpp": b"{"}


def within_budget(change: ChangeSet, most: int = MOST_WORK) -> ChangeSet:
    """The change, without the contents of the files that would cost more than is left.

    The cheapest files come first, so that one that is vast does not hide the others.
    """
    costs = sorted((_work(file, change), file.path) for file in _sources(change))
    left_out: set[str] = set()
    spent = 0
    for cost, path in costs:
        spent += cost
        if spent > most:
            left_out.add(path)
    return change.without(left_out) if left_out else change


def _sources(change: ChangeSet) -> Iterable[FileChange]:
    return [file for file in change.files if language(file.path) and file.mode == "file"]


def _work(file: FileChange, change: ChangeSet) -> int:
    """What the rules do with a file, in touched lines."""
    touched = file.added + file.removed
    head = change.head.read(file.head_path) if file.head_path else None
    base = change.base.read(file.base_path) if file.base_path else None
    lines = functions = size = 0
    for data in (head, base):
        if data is not None:
            lines += data.count(b"\n")
            functions += data.count(_OPENINGS[language(file.path)])
            size += len(data)
    as_lines = touched + _FUNCTION * min(functions, touched)
    as_bytes = touched * size // max(1, lines) // _LONG
    return size // _READ + max(as_lines, as_bytes)
