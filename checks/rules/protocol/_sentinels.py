"""Values with a meaning of their own (`-9` for a preempted slot): what senders write, and what readers compare with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.finding import Location, Side
from checks.domain.messages import SEND, Endpoint, Messages
from checks.domain.ops import Ops
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import SourceFile
from checks.rules.protocol._buffer_reads import Reading
from checks.rules.protocol._comparisons import Marked, compared, tells
from checks.rules.protocol._layout_diff import Readable, Sides
from checks.rules.protocol._struct_copies import Change


@dataclass(frozen=True, slots=True)
class Lost:
    """A sentinel that one end changed from `was` to `now` while `other`, at the other end, still has `was`."""

    was: int
    now: Marked
    other: Marked
    end: Endpoint
    sender_changed: bool


def written(end: Endpoint, messages: Messages) -> list[Marked]:
    """The numbers that a sender stores into the message as they are, but for 0 and 1, which say nothing."""
    found = []
    for move in messages.writes(end):
        value = messages.constants.resolve(move.value, end.unit, end.function)
        if value is not None and tells(value.value):
            at = Location(end.unit.path, move.line, side=messages.side)
            key = (end.function.qualname, move.target.path, move.target.indices)
            text = end.unit.text(move.line).strip()
            found.append(Marked(key, int(str(value.value)), at, text, value.locations))
    return found


def passed(end: Endpoint, change: ChangeSet, messages: Messages) -> list[Marked]:
    """The numbers that Python passes for a parameter which a sender stores into the message."""
    params = [p.name for p in end.function.params]
    stored = {n for m in messages.writes(end) for n in E.names(m.value)} & set(params)
    ops = Ops.of(change, messages.side)
    found = []
    for op in end.ops:
        for info in ops.named(op):
            names = {p for p in info.params if info.cpp_name(p) in stored}
            for call in ops.calls(op) if names else ():
                for name in sorted(names & set(call.args)):
                    value = messages.constants.resolve(call.args[name], call.unit, call.function)
                    if value is not None and tells(value.value):
                        at = Location(call.unit.path, call.call.line, side=messages.side)
                        text = call.unit.text(at.start_line).strip()
                        found.append(
                            Marked((op, name), int(str(value.value)), at, text, value.locations)
                        )
    return found


def lost(changed: list[Change], readable: list[Readable], both: Sides) -> Iterator[Lost]:
    """Sentinels that only one end changed."""
    for pair in changed:
        if pair.new.role == SEND:
            yield from _by_sender(pair, both)
    altered: dict[tuple[str, str], list[tuple[int, Marked]]] = {}
    for one in readable:
        yield from _by_reader(one.ends, both, altered)


def _altered(before: list[Marked], now: list[Marked]) -> Iterator[tuple[int, Marked]]:
    """(old value, new) at each place that has one value on both sides, another one each."""
    for new in now:
        mine = {m.value for m in now if m.key == new.key}
        was = {m.value for m in before if m.key == new.key}
        if len(was) == len(mine) == 1 and was != mine:
            yield was.pop(), new


def _by_sender(pair: Change, both: Sides) -> Iterator[Lost]:
    head = both.head
    altered = list(_altered(written(pair.old, both.base), written(pair.new, head)))
    if not altered:
        return
    found = [r for e in head.peers(pair.new) if e.role != SEND for r in both.head_readers.of(e)]
    for unit, owner in _classes(found):
        here = compared(unit, owner, head.constants, Side.HEAD)
        for was, new in altered:
            still = next((m for m in here if m.value == was), None)
            if still is not None and all(m.value != new.value for m in here):
                yield Lost(was, new, still, pair.new, True)


def _by_reader(
    pair: Change, both: Sides, known: dict[tuple[str, str], list[tuple[int, Marked]]]
) -> Iterator[Lost]:
    """`known` keeps what each class altered, which several receivers may feed."""
    head, change = both.head, both.change
    for unit, owner in _classes(list(both.head_readers.of(pair.new))):
        if (unit.path, owner) not in known:
            known[unit.path, owner] = _altered_in(unit, owner, both)
        altered = known[unit.path, owner]
        senders = [e for e in head.peers(pair.new) if e.role == SEND] if altered else []
        sent = [m for e in senders for m in (*written(e, head), *passed(e, change, head))]
        for was, new in altered:
            still = next((m for m in sent if m.value == was), None)
            if still is not None and all(m.value != new.value for m in sent):
                yield Lost(was, new, still, pair.new, False)


def _altered_in(unit: SourceFile, owner: str, both: Sides) -> list[tuple[int, Marked]]:
    """The sentinels that a class compares with another value than before."""
    file = both.change.changed(unit.path)
    path = file.base_path if file is not None else unit.path
    old = both.change.unit(path, Side.BASE) if path else None
    if old is None:
        return []
    constants = {c.line for c in unit.constants}
    lines = file.head_lines() if file is not None else set()
    if file is not None and not any(
        n in constants or "==" in unit.lines[n - 1] or "!=" in unit.lines[n - 1]
        for n in lines
        if n <= len(unit.lines)
    ):
        return []
    before = compared(old, owner, both.base.constants, Side.BASE)
    return list(_altered(before, compared(unit, owner, both.head.constants, Side.HEAD)))


def _classes(readings: list[Reading]) -> list[tuple[SourceFile, str]]:
    found = {(r.unit.path, r.owner): r.unit for r in readings}
    return [(unit, owner) for (_, owner), unit in found.items()]
