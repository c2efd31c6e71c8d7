"""A receiver and the Python class that reads its buffers, put side by side before and after a change."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from checks.core.change import ChangeSet, FileChange
from checks.core.config import Config
from checks.core.finding import Side
from checks.core.tree import word_regex
from checks.domain.messages import RECEIVE, Endpoint, Messages
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import SourceFile
from checks.lang.source import language
from checks.rules.protocol import _receiver_layout
from checks.rules.protocol._buffer_reads import (
    DTYPE,
    OFFSET,
    SIZE,
    STRIDE,
    Quantity,
    Readers,
    Reading,
)
from checks.rules.protocol._comparisons import compared
from checks.rules.protocol._struct_copies import Change, earlier

_MOST_NUMBERS = 6
_OP = re.compile(rb"\b\w*OP\w*\(\s*(\w+)\s*\)|\.def\(\s*\"(\w+)\"")


@dataclass(frozen=True, slots=True)
class Apart:
    """A number that both ends had in common: `python` and `cpp` are what they have now, `was` what it was."""

    reading: Reading
    end: Endpoint
    python: Quantity
    cpp: Quantity
    was: int | str

    @property
    def sure(self) -> bool:
        """Whether data is certainly misread, or written past a buffer's end."""
        return self.python.kind != SIZE or (
            self.cpp.certain and int(self.python.value) < int(self.cpp.value)
        )


@dataclass
class Sides:
    """The messages of both sides of a change."""

    change: ChangeSet
    config: Config
    head: Messages = field(init=False)
    base: Messages = field(init=False)
    otherwise: dict[tuple[str, str], bool] = field(default_factory=dict)
    head_readers: Readers = field(init=False)
    base_readers: Readers = field(init=False)

    def __post_init__(self) -> None:
        self.head = Messages.of(self.change, self.config)
        self.base = Messages.of(self.change, self.config, Side.BASE)
        self.head_readers = Readers(self.change, self.config, self.head.constants, Side.HEAD)
        self.base_readers = Readers(self.change, self.config, self.base.constants, Side.BASE)


@dataclass(frozen=True, slots=True)
class Readable:
    """A receiver that Python reads from; `altered` where the change reaches its message in C++."""

    ends: Change
    altered: bool


def receivers(both: Sides, changed: list[Change]) -> Iterator[Readable]:
    """Receivers that may have come apart from their readers: of a changed message, or read by changed Python."""
    seen: set[tuple[str, str]] = set()
    touched = [e for c in changed for e in (c.new, *both.head.peers(c.new))]
    found = [*((e, True) for e in touched), *((e, False) for e in _read_by_changed_python(both))]
    for end, altered in found:
        key = (end.unit.path, end.function.qualname)
        if end.role == RECEIVE and key not in seen:
            seen.add(key)
            old = earlier(end, both.change, both.base)
            if old is not None:
                yield Readable(Change(old, end), altered)


def _read_by_changed_python(both: Sides) -> Iterator[Endpoint]:
    """Receivers that a changed Python class calls, where what it has for the layout, or compares with, changed."""
    changed = [
        f for f in both.change.files
        if f.head_path and f.base_path and language(f.head_path) == "python" and not both.config.is_test(f.head_path)
    ]  # fmt: skip
    changed += [FileChange("M", path, path) for path in _using_changed_numbers(changed, both)]
    for path in both.change.head.paths_containing("msgrcv") if changed else ():
        ops = {(a or b).decode() for a, b in _OP.findall(both.change.head.read(path) or b"")}
        if any(_reads_otherwise(op, file, both) for op in sorted(ops) for file in changed):
            unit = both.change.unit(path)
            yield from both.head.of_unit(unit) if unit is not None else ()


def _using_changed_numbers(changed: list[FileChange], both: Sides) -> list[str]:
    """Other Python files that name a module's number which the change altered."""
    names: list[str] = []
    for file in changed:
        lines = file.head_lines()
        now, was = (
            both.change.unit(file.head_path or ""),
            both.change.unit(file.base_path or "", Side.BASE),
        )
        before = {c.name: c.value for c in was.constants} if was is not None else {}
        for constant in now.constants if now is not None else ():
            number = isinstance(constant.value, E.Const | E.Unary) and constant.name.isupper()
            if (
                number
                and constant.line in lines
                and before.get(constant.name, constant.value) != constant.value
            ):
                names.append(constant.name)
    paths = {
        path
        for name in names[:_MOST_NUMBERS]
        for path in both.change.head.paths_containing(name, "python")
    }
    known = {f.path for f in changed}
    return sorted(p for p in paths - known if not both.config.is_test(p))


def _reads_otherwise(op: str, file: FileChange, both: Sides) -> bool:
    """Whether a class of a changed file that calls `op` has other numbers for any attribute it passes."""
    key = (op, file.path)
    if key not in both.otherwise:
        text = both.change.head.read(file.path) or b""
        name = op.encode()
        called = name in text and re.search(rf"{word_regex(op)}\s*\(".encode(), text) is not None
        sides = [_all_numbers(op, file, both, side) for side in (Side.BASE, Side.HEAD) if called]
        both.otherwise[key] = called and sides[0] != sides[1]
    return both.otherwise[key]


def _all_numbers(op: str, file: FileChange, both: Sides, side: Side) -> list[object]:
    head = side is Side.HEAD
    readers = both.head_readers if head else both.base_readers
    unit = both.change.unit((file.head_path if head else file.base_path) or "", side)
    readings = list(readers.attributes_passed(op, unit)) if unit is not None else []
    owners = dict.fromkeys(r.owner for r in readings)
    found: list[object] = [(r.buffer, _numbers(readers.quantities(r))) for r in readings]
    for owner in owners if unit is not None else ():
        found.append(_compared(unit, owner, both, side) if unit is not None else None)
    return found


def _compared(unit: SourceFile, owner: str, both: Sides, side: Side) -> list[tuple[object, int]]:
    """What a class compares numbers with, looked up once for all the ops that it calls."""
    constants = both.head.constants if side is Side.HEAD else both.base.constants
    key = (_compared, unit.path, owner, side)
    return both.change.memo(
        key, lambda: [(m.key, m.value) for m in compared(unit, owner, constants, side)]
    )


def compare(readable: Readable, both: Sides) -> Iterator[Apart]:
    """What the receiver and each class that reads from it had in common, and have no more."""
    now, before = both.head_readers, both.base_readers
    pair, altered = readable.ends, readable.altered
    earlier_readings = {(r.op, r.buffer, r.param, r.owner): r for r in before.of(pair.old)}
    done: set[tuple[str, str, str, str]] = set()
    for reading in now.of(pair.new):
        key = (reading.op, reading.buffer, reading.param, reading.owner)
        was = earlier_readings.get(key)
        if was is None or key in done:
            continue
        done.add(key)
        python = before.quantities(was), now.quantities(reading)
        if (
            not python[0]
            or not python[1]
            or not (altered or _numbers(python[0]) != _numbers(python[1]))
        ):
            continue
        cpp_old = list(_receiver_layout.quantities(pair.old, was.param, both.base))
        cpp_new = list(_receiver_layout.quantities(pair.new, reading.param, both.head))
        for old, new in _paired(*python):
            found = _apart(old, new, cpp_old, cpp_new)
            if found is not None:
                yield Apart(reading, pair.new, new, found, old.value)


def _numbers(quantities: list[Quantity]) -> list[tuple[str, int | str]]:
    return [(q.kind, q.value) for q in quantities]


def _paired(old: list[Quantity], new: list[Quantity]) -> Iterator[tuple[Quantity, Quantity]]:
    """The quantities of one kind in order, where there are as many of it as before."""
    for kind in (SIZE, OFFSET, STRIDE, DTYPE):
        a, b = [q for q in old if q.kind == kind], [q for q in new if q.kind == kind]
        if len(a) == len(b):
            yield from zip(a, b, strict=True)


def _apart(
    old: Quantity, new: Quantity, cpp_old: list[Quantity], cpp_new: list[Quantity]
) -> Quantity | None:
    """The C++ quantity that `new` no longer equals and `old` did, None where they agree or never did."""
    before = [q for q in cpp_old if q.kind == old.kind]
    now = [q for q in cpp_new if q.kind == new.kind]
    place = next((n for n, q in enumerate(before) if q.value == old.value), None)
    if place is None or not now or any(q.value == new.value for q in now):
        return None
    if len(now) == len(before):
        return now[place]
    return next((q for q in now if q.value == old.value), now[0])
