"""Receivers that Python reads from, where the change may have parted the two."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import FileChange
from checks.core.finding import Side
from checks.core.words import as_bytes, word_regex
from checks.domain.message_roles import RECEIVE
from checks.domain.messages import MessageEnd
from checks.lang.ir import expr as E
from checks.lang.source import language
from checks.rules.protocol._changed_ends import ChangedEnd, end_before
from checks.rules.protocol._layout_numbers import kinds_and_values
from checks.rules.protocol._sides import LayoutSides

# More changed constants than this are a new configuration, not a new layout.
_MOST_CONSTANTS = 6
# The name in `PD_BUILD_STATIC_OP(name)`, or in pybind11's `m.def("name", ...)`.
_REGISTERED = re.compile(rb"\b\w*OP\w*\(\s*(\w+)\s*\)|\.def\(\s*\"(\w+)\"")


@dataclass(frozen=True, slots=True)
class ReadReceiver:
    """A receiver that Python reads from.

    `cpp_changed` says that the change reaches its message in C++.
    """

    ends: ChangedEnd
    cpp_changed: bool


def read_receivers(sides: LayoutSides, changed: list[ChangedEnd]) -> Iterator[ReadReceiver]:
    """The receivers of a changed message, and those that a changed Python class reads from."""
    candidates: list[tuple[MessageEnd, bool]] = []
    for ends in changed:
        candidates.append((ends.new, True))
        candidates += [(peer, True) for peer in sides.head.peers(ends.new)]
    candidates += [(end, False) for end in _read_by_changed_python(sides)]
    seen: set[tuple[str, str]] = set()
    for end, cpp_changed in candidates:
        key = (end.unit.path, end.function.qualname)
        if end.role != RECEIVE or key in seen:
            continue
        seen.add(key)
        old = end_before(end, sides.change, sides.base)
        if old is not None:
            yield ReadReceiver(ChangedEnd(old, end), cpp_changed)


def _read_by_changed_python(sides: LayoutSides) -> Iterator[MessageEnd]:
    """The receivers whose op a class calls that has another layout or other sentinels now."""
    files = _changed_product_files(sides)
    files += [FileChange("M", path, path) for path in _files_using_changed_constants(files, sides)]
    if not files:
        return
    head = sides.change.head
    for path in head.paths_containing("msgrcv", "cpp"):
        ops = {macro or binding for macro, binding in _REGISTERED.findall(head.read(path) or b"")}
        if _any_reads_otherwise(sorted(op.decode() for op in ops), files, sides):
            unit = sides.change.unit(path)
            if unit is not None:
                yield from sides.head.ends_in(unit)


def _changed_product_files(sides: LayoutSides) -> list[FileChange]:
    """The changed Python files that are in both trees, without tests."""
    files = []
    for file in sides.change.files:
        if not file.head_path or not file.base_path or sides.config.is_test(file.head_path):
            continue
        if language(file.head_path) == "python":
            files.append(file)
    return files


def _files_using_changed_constants(files: list[FileChange], sides: LayoutSides) -> list[str]:
    """Other Python files of the product that name a number which `files` changed."""
    names: list[str] = []
    for file in files:
        names += _changed_constants(file, sides)
    paths: set[str] = set()
    for name in names[:_MOST_CONSTANTS]:
        paths.update(sides.change.head.paths_containing(name, "python"))
    paths -= {file.path for file in files}
    return sorted(path for path in paths if not sides.config.is_test(path))


def _changed_constants(file: FileChange, sides: LayoutSides) -> Iterator[str]:
    new = sides.change.unit(file.head_path or "")
    old = sides.change.unit(file.base_path or "", Side.BASE)
    if new is None:
        return
    old_constants = old.constants if old is not None else ()
    old_values = {constant.name: constant.value for constant in old_constants}
    lines = file.head_lines()
    for constant in new.constants:
        is_number = isinstance(constant.value, E.Const | E.Unary) and constant.name.isupper()
        if not is_number or constant.line not in lines:
            continue
        if old_values.get(constant.name, constant.value) != constant.value:
            yield constant.name


def _any_reads_otherwise(ops: list[str], files: list[FileChange], sides: LayoutSides) -> bool:
    for op in ops:
        for file in files:
            key = (_reads_otherwise, op, file.path)
            # Several receivers register one op, one for each hardware.
            if sides.change.memo(key, lambda op=op, file=file: _reads_otherwise(op, file, sides)):  # type: ignore[misc]
                return True
    return False


def _reads_otherwise(op: str, file: FileChange, sides: LayoutSides) -> bool:
    """Whether a class that calls `op` has other numbers for what it passes than before."""
    text = sides.change.head.read(file.path) or b""
    if re.search(as_bytes(rf"{word_regex(op)}\s*\("), text) is None:
        return False
    before = _numbers_read(op, file.base_path, sides, Side.BASE)
    return before != _numbers_read(op, file.head_path, sides, Side.HEAD)


def _numbers_read(op: str, path: str | None, sides: LayoutSides, side: Side) -> list[object]:
    """The layouts and sentinels of the classes in a file that call `op`, without their places."""
    unit = sides.change.unit(path or "", side)
    if unit is None:
        return []
    reads = list(sides.reads(side).of_op(op, unit))
    found: list[object] = []
    for read in reads:
        found.append((read.buffer, kinds_and_values(sides.reads(side).numbers(read))))
    for owner in dict.fromkeys(read.owner for read in reads):
        uses = sides.compared_sentinels(unit, owner, side)
        found.append([(use.key, use.value) for use in uses])
    return found
