"""A special value of a message changed at one end only.

## What it does

Some values in a message have a meaning of their own, such as `-9` for a preempted slot. It collects
the numbers that senders store into a message, those that Python passes to a sender which stores
them, and those that the reading classes compare with. It reports a number that the change altered
at one end, while the other end still uses the old one and nobody there uses the new one.

## Why it matters

Nothing fails when a sentinel is missed: the reader takes `-10` for a count of tokens, and a
preempted request goes on with wrong data.

## Example

```cpp
msg.counts[i] = -10;                # was -9
```
```python
if counts[i] == -9:                 # never true again
```

## Known limits

0 and 1 stand for too much else and are not followed. A flag that only the Python caller of the
sender changed is not seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet, FileChange
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Message, Severity, Side
from checks.domain.message_roles import SEND
from checks.domain.messages import MessageEnd, Messages
from checks.domain.ops import OpInfo, Ops
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import SourceFile
from checks.rules.protocol._changed_ends import ChangedEnd
from checks.rules.protocol._layout_diff import layout_diff
from checks.rules.protocol._read_receivers import ReadReceiver
from checks.rules.protocol._sentinel_uses import SentinelUse, sentinel_use
from checks.rules.protocol._sides import LayoutSides

ID = "protocol.lost-sentinel"


@dataclass(frozen=True, slots=True)
class LostSentinel:
    """A sentinel that one end changed from `old` to `new`, while the other end still has `kept`."""

    old: int
    new: SentinelUse
    kept: SentinelUse
    end: MessageEnd
    sender_changed: bool


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One finding for each place where the old value is left."""
    diff = layout_diff(change, config)
    for ends in diff.changed_ends:
        if ends.new.role == SEND:
            for sentinel in _lost_by_readers(ends, diff.sides):
                yield _finding(sentinel, change)
    for receiver in diff.receivers:
        for sentinel in _lost_by_senders(receiver, diff.sides):
            yield _finding(sentinel, change)


def _lost_by_readers(ends: ChangedEnd, sides: LayoutSides) -> Iterator[LostSentinel]:
    """Sentinels that the sender changed, and the reading classes did not."""
    before = _written(ends.old, sides.base)
    altered = list(_altered(before, _written(ends.new, sides.head)))
    if not altered:
        return
    receivers = [peer for peer in sides.head.peers(ends.new) if peer.role != SEND]
    for unit, owner in _reading_classes(receivers, sides):
        compared = sides.compared_sentinels(unit, owner, Side.HEAD)
        for old, new in altered:
            kept = _kept(old, new.value, compared)
            if kept is not None:
                yield LostSentinel(old, new, kept, ends.new, sender_changed=True)


def _lost_by_senders(receiver: ReadReceiver, sides: LayoutSides) -> Iterator[LostSentinel]:
    """Sentinels that a reading class changed, and the senders did not."""
    end = receiver.ends.new
    for unit, owner in _reading_classes([end], sides):
        altered = list(_altered_in_class(unit, owner, sides))
        if not altered:
            continue
        sent = _sent_to(end, sides)
        for old, new in altered:
            kept = _kept(old, new.value, sent)
            if kept is not None:
                yield LostSentinel(old, new, kept, end, sender_changed=False)


def _kept(old: int, new: int, uses: list[SentinelUse]) -> SentinelUse | None:
    """The first use of the old value, where none is of the new one."""
    if any(use.value == new for use in uses):
        return None
    for use in uses:
        if use.value == old:
            return use
    return None


def _altered(
    before: list[SentinelUse], after: list[SentinelUse]
) -> Iterator[tuple[int, SentinelUse]]:
    """(old value, new use) at each place that has one value in both trees, another one each."""
    for new in after:
        old_values = {use.value for use in before if use.key == new.key}
        new_values = {use.value for use in after if use.key == new.key}
        if len(old_values) == len(new_values) == 1 and old_values != new_values:
            yield old_values.pop(), new


def _reading_classes(
    receivers: list[MessageEnd], sides: LayoutSides
) -> list[tuple[SourceFile, str]]:
    """(file, class) of everything that reads a buffer of `receivers`, each once."""
    classes: dict[tuple[str, str], SourceFile] = {}
    for receiver in receivers:
        for read in sides.head_reads.of_receiver(receiver):
            classes[read.unit.path, read.owner] = read.unit
    return [(unit, owner) for (_, owner), unit in classes.items()]


def _altered_in_class(
    unit: SourceFile, owner: str, sides: LayoutSides
) -> Iterator[tuple[int, SentinelUse]]:
    """The sentinels that a class compares with another value than before."""
    file = sides.change.changed(unit.path)
    if file is not None and not _may_alter_comparison(file, unit):
        return
    path = file.base_path if file is not None else unit.path
    old_unit = sides.change.unit(path, Side.BASE) if path else None
    if old_unit is None:
        return
    before = sides.compared_sentinels(old_unit, owner, Side.BASE)
    yield from _altered(before, sides.compared_sentinels(unit, owner, Side.HEAD))


def _may_alter_comparison(file: FileChange, unit: SourceFile) -> bool:
    """Whether a changed line compares something or defines a constant."""
    constants = {constant.line for constant in unit.constants}
    for line in file.head_lines():
        if line > len(unit.lines):
            continue
        text = unit.lines[line - 1]
        if line in constants or "==" in text or "!=" in text:
            return True
    return False


def _sent_to(receiver: MessageEnd, sides: LayoutSides) -> list[SentinelUse]:
    """The sentinels that the senders of a message store into it, their own and their callers'."""
    uses: list[SentinelUse] = []
    for peer in sides.head.peers(receiver):
        if peer.role == SEND:
            uses += _written(peer, sides.head)
            uses += _passed(peer, sides.change, sides.head)
    return uses


def _written(sender: MessageEnd, messages: Messages) -> list[SentinelUse]:
    """The sentinels that a sender stores into the message as they are."""
    uses: list[SentinelUse] = []
    for move in messages.writes(sender):
        key = (sender.function.qualname, move.target.path, move.target.indices)
        use = sentinel_use(
            key,
            move.value,
            move.line,
            sender.unit,
            sender.function,
            messages.constants,
            messages.side,
        )
        if use is not None:
            uses.append(use)
    return uses


def _passed(sender: MessageEnd, change: ChangeSet, messages: Messages) -> list[SentinelUse]:
    """The sentinels that Python passes for a parameter which the sender stores into the message."""
    ops = Ops.of(change, messages.side)
    stored = _stored_params(sender, messages)
    uses: list[SentinelUse] = []
    for name in sender.ops:
        for op in ops.named(name):
            params = {param for param in op.params if op.cpp_name(param) in stored}
            if params:
                uses += _passed_to(op, params, ops, messages)
    return uses


def _stored_params(sender: MessageEnd, messages: Messages) -> set[str]:
    """The parameters of a sender from which a value goes into the message."""
    names: set[str] = set()
    for move in messages.writes(sender):
        names |= E.names(move.value)
    return names & {param.name for param in sender.function.params}


def _passed_to(op: OpInfo, params: set[str], ops: Ops, messages: Messages) -> Iterator[SentinelUse]:
    for call in ops.calls(op.name):
        for param in sorted(params & set(call.args)):
            use = sentinel_use(
                (op.name, param),
                call.args[param],
                call.call.line,
                call.unit,
                call.function,
                messages.constants,
                messages.side,
            )
            if use is not None:
                yield use


def _finding(sentinel: LostSentinel, change: ChangeSet) -> Finding:
    new, kept, struct = sentinel.new, sentinel.kept, sentinel.end.struct
    args = {
        "was": sentinel.old,
        "now": new.value,
        "at": kept.place,
        "sender": sentinel.sender_changed,
        "struct": struct.name,
    }
    return Finding(
        rule=ID,
        severity=Severity.BUG,
        confidence=Confidence.MEDIUM,
        location=_changed_line(new, change),
        message=Message("sentinel", args),
        symbol=struct.name,
        subject=f"{sentinel.old} {new.value}",
        evidence=(new.definition(struct.name), kept.definition(struct.name)),
    )


def _changed_line(use: SentinelUse, change: ChangeSet) -> Location:
    """The changed definition of a named sentinel, else where the value is used."""
    for place in (*use.rests_on, use.place):
        if change.touches(place.path, place.start_line, place.end_line):
            return place
    return use.place
