"""The receivers of a change and the Python classes that read their buffers, side by side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.domain.messages import MessageEnd
from checks.lang.source import language
from checks.rules.protocol._buffer_reads import BufferRead
from checks.rules.protocol._changed_ends import ChangedEnd, changed_ends
from checks.rules.protocol._layout_numbers import (
    DTYPE,
    OFFSET,
    SIZE,
    STRIDE,
    LayoutNumber,
    kinds_and_values,
)
from checks.rules.protocol._read_receivers import ReadReceiver, read_receivers
from checks.rules.protocol._receiver_layout import receiver_layout
from checks.rules.protocol._sides import LayoutSides


@dataclass(frozen=True, slots=True)
class LayoutMismatch:
    """A number that both ends had in common as `was`; now Python has `python` and C++ has `cpp`."""

    read: BufferRead
    end: MessageEnd
    python: LayoutNumber
    cpp: LayoutNumber
    was: int | str

    @property
    def is_certain(self) -> bool:
        """Whether data is certainly misread, or written past a buffer's end."""
        if self.python.kind != SIZE:
            return True
        return self.cpp.certain and self.is_too_small

    @property
    def is_too_small(self) -> bool:
        """Of two sizes: whether the buffer holds less than the message."""
        return int(self.python.value) < int(self.cpp.value)


@dataclass(frozen=True, slots=True)
class LayoutDiff:
    """What the rules about layouts have in common."""

    sides: LayoutSides
    changed_ends: list[ChangedEnd]
    receivers: list[ReadReceiver]
    mismatches: list[LayoutMismatch]


def layout_diff(change: ChangeSet, config: Config) -> LayoutDiff:
    """The layouts of both sides of `change`, compared once for all rules."""
    return change.memo(layout_diff, lambda: _layout_diff(change, config))


def _layout_diff(change: ChangeSet, config: Config) -> LayoutDiff:
    sides = LayoutSides(change, config)
    if not any(language(file.path) and not config.is_test(file.path) for file in change.files):
        return LayoutDiff(sides, [], [], [])
    changed = list(changed_ends(change, sides.head, sides.base))
    receivers = list(read_receivers(sides, changed))
    mismatches: list[LayoutMismatch] = []
    for receiver in receivers:
        mismatches += _mismatches(receiver, sides)
    return LayoutDiff(sides, changed, receivers, mismatches)


def _mismatches(receiver: ReadReceiver, sides: LayoutSides) -> Iterator[LayoutMismatch]:
    """What the receiver and each class that reads from it had in common, and have no more."""
    ends = receiver.ends
    old_reads = {read.identity: read for read in sides.base_reads.of_receiver(ends.old)}
    seen: set[tuple[str, str, str, str]] = set()
    for read in sides.head_reads.of_receiver(ends.new):
        old_read = old_reads.get(read.identity)
        if old_read is None or read.identity in seen:
            continue
        seen.add(read.identity)
        old_python = sides.base_reads.numbers(old_read)
        new_python = sides.head_reads.numbers(read)
        if not old_python or not new_python:
            continue
        python_changed = kinds_and_values(old_python) != kinds_and_values(new_python)
        if not receiver.cpp_changed and not python_changed:
            continue
        old_cpp = list(receiver_layout(ends.old, old_read.param, sides.base))
        new_cpp = list(receiver_layout(ends.new, read.param, sides.head))
        for old, new in _paired(old_python, new_python):
            cpp = _parted_from(old, new, old_cpp, new_cpp)
            if cpp is not None:
                yield LayoutMismatch(read, ends.new, new, cpp, old.value)


def _paired(
    old: list[LayoutNumber], new: list[LayoutNumber]
) -> Iterator[tuple[LayoutNumber, LayoutNumber]]:
    """The numbers of one kind in order, where there are as many of it as before."""
    for kind in (SIZE, OFFSET, STRIDE, DTYPE):
        before = _of_kind(kind, old)
        after = _of_kind(kind, new)
        if len(before) == len(after):
            yield from zip(before, after, strict=True)


def _of_kind(kind: str, numbers: list[LayoutNumber]) -> list[LayoutNumber]:
    return [number for number in numbers if number.kind == kind]


def _parted_from(
    old: LayoutNumber,
    new: LayoutNumber,
    old_cpp: list[LayoutNumber],
    new_cpp: list[LayoutNumber],
) -> LayoutNumber | None:
    """The C++ number that `old` equalled and `new` does not; None where they agree or never did."""
    before = _of_kind(old.kind, old_cpp)
    after = _of_kind(old.kind, new_cpp)
    old_values = [number.value for number in before]
    if old.value not in old_values or not after:
        return None
    if any(number.value == new.value for number in after):
        return None
    if len(after) == len(before):
        return after[old_values.index(old.value)]
    for number in after:
        if number.value == old.value:
            return number
    return after[0]
