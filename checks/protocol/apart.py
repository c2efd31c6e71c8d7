"""A receiver and the Python class that reads its buffers, put side by side before and after a change."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from checks.change import ChangeSet
from checks.config import Config
from checks.finding import Side
from checks.protocol import wire
from checks.protocol.copies import Change, earlier
from checks.protocol.messages import RECEIVE, Endpoint, Messages
from checks.protocol.readers import DTYPE, OFFSET, SIZE, STRIDE, Quantity, Readers, Reading
from checks.source import language

_OP = re.compile(rb"\b\w*OP\w*\(\s*(\w+)\s*\)|\.def\(\s*\"(\w+)\"")


@dataclass(frozen=True)
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
        return self.python.kind != SIZE or (self.cpp.certain and int(self.python.value) < int(self.cpp.value))


@dataclass
class Sides:
    """The messages of both sides of a change."""

    change: ChangeSet
    config: Config
    head: Messages = field(init=False)
    base: Messages = field(init=False)
    head_readers: Readers = field(init=False)
    base_readers: Readers = field(init=False)

    def __post_init__(self) -> None:
        self.head = Messages(self.change, self.config)
        self.base = Messages(self.change, self.config, Side.BASE)
        self.head_readers = Readers(self.change, self.config, self.head.constants, Side.HEAD)
        self.base_readers = Readers(self.change, self.config, self.base.constants, Side.BASE)


@dataclass(frozen=True)
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
    texts = [
        both.change.head.read(f.head_path) or b""
        for f in both.change.files
        if f.head_path and language(f.head_path) == "python" and not both.config.is_test(f.head_path)
    ]
    for path in sorted({h.path for h in both.change.head.find("msgrcv")} if texts else ()):
        data = both.change.head.read(path) or b""
        names = {a or b for a, b in _OP.findall(data)}
        if any(name in text for name in names for text in texts):
            unit = both.change.unit(path)
            yield from both.head.of_unit(unit) if unit is not None else ()


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
        python = list(before.quantities(was)), list(now.quantities(reading))
        if not python[0] or not python[1] or not (altered or _numbers(python[0]) != _numbers(python[1])):
            continue
        cpp_old = list(wire.quantities(pair.old, was.param, both.base))
        cpp_new = list(wire.quantities(pair.new, reading.param, both.head))
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


def _apart(old: Quantity, new: Quantity, cpp_old: list[Quantity], cpp_new: list[Quantity]) -> Quantity | None:
    """The C++ quantity that `new` no longer equals and `old` did, None where they agree or never did."""
    before = [q for q in cpp_old if q.kind == old.kind]
    now = [q for q in cpp_new if q.kind == new.kind]
    place = next((n for n, q in enumerate(before) if q.value == old.value), None)
    if place is None or not now or any(q.value == new.value for q in now):
        return None
    if len(now) == len(before):
        return now[place]
    return next((q for q in now if q.value == old.value), now[0])
