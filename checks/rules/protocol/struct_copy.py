"""Two copies of a message's struct no longer agree.

## What it does

Sender and receiver often define the struct of their message each for itself. Where the change
altered one copy, its members are compared with those of every other copy of the same message, name
by name, type by type and dimension by dimension, with the constants of each file put in. It reports
the first member that agreed before the change and does not after it.

## Why it matters

A message travels as bytes: nothing checks that both processes read it by the same struct. After
PaddlePaddle/FastDeploy#5026 the same message had 2 draft tokens in two files and 6 in two others.

## Example

```cpp
struct msg { long mtype; float scores[N]; };    // save.cc, the change
struct msg { long mtype; int scores[N]; };      // get.cc
```

## Known limits

Two structs are copies of one message where the names of their ops agree but for the end (`save_x`,
`get_x`), or where their members do. Other copies are not compared. Padding is not considered.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, Definition, Finding, Location, Message, Severity
from checks.domain.messages import MessageEnd
from checks.domain.struct_layouts import StructField
from checks.rules.protocol._changed_ends import ChangedEnd, end_before, layout_of, plain_type
from checks.rules.protocol._layout_diff import layout_diff
from checks.rules.protocol._sides import LayoutSides

ID = "protocol.struct-copy"


@dataclass(frozen=True, slots=True)
class StructDifference:
    """Two copies of one struct: where `changed` has `here`, `copy` has `there`."""

    changed: MessageEnd
    copy: MessageEnd
    member: str
    here: Definition
    there: Definition


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One finding for each pair of copies that came apart."""
    diff = layout_diff(change, config)
    for difference in _differences(diff.changed_ends, diff.sides):
        yield _finding(difference, change)


def _differences(changed: list[ChangedEnd], sides: LayoutSides) -> Iterator[StructDifference]:
    """Pairs of struct copies that agreed in the base and do not in the head."""
    seen: set[frozenset[tuple[str, int]]] = set()
    for ends in changed:
        before = layout_of(ends.old, sides.base)
        if layout_of(ends.new, sides.head) == before:
            continue
        for peer in sides.head.peers(ends.new):
            pair = frozenset({_struct_place(ends.new), _struct_place(peer)})
            old_peer = end_before(peer, sides.change, sides.base)
            if len(pair) < 2 or pair in seen or old_peer is None:
                continue
            seen.add(pair)
            if layout_of(old_peer, sides.base) != before:
                continue
            difference = _first_difference(ends.new, peer, sides)
            if difference is not None:
                yield difference


def _struct_place(end: MessageEnd) -> tuple[str, int]:
    return end.struct.path, end.struct.start_line


def _first_difference(
    changed: MessageEnd, copy: MessageEnd, sides: LayoutSides
) -> StructDifference | None:
    here = sides.head.structs.layout(changed.struct, changed.unit)
    there = sides.head.structs.layout(copy.struct, copy.unit)
    for own, other in zip(here, there, strict=False):
        if _is_different(own, other):
            return StructDifference(
                changed, copy, own.name, _definition(own, changed), _definition(other, copy)
            )
    if len(here) > len(there):
        extra = _definition(here[len(there)], changed)
        return StructDifference(changed, copy, extra.name, extra, _whole_struct(copy))
    if len(there) > len(here):
        extra = _definition(there[len(here)], copy)
        return StructDifference(changed, copy, extra.name, _whole_struct(changed), extra)
    return None


def _is_different(own: StructField, other: StructField) -> bool:
    if own.name != other.name or plain_type(own) != plain_type(other):
        return True
    # A dimension that is not certain may well be the same.
    if None in own.dims or None in other.dims:
        return False
    return own.dims != other.dims


def _definition(field: StructField, end: MessageEnd) -> Definition:
    value = field.type + "".join(f"[{dim}]" for dim in field.dims)
    # A member of an inner struct has its line in that struct, which may be in another file.
    is_inner = "." in field.name
    line = end.struct.start_line if is_inner else field.line
    return Definition(f"{end.struct.name}.{field.name}", Location(end.struct.path, line), value)


def _whole_struct(end: MessageEnd) -> Definition:
    """What stands for a member that a copy does not have."""
    return Definition(end.struct.name, Location(end.struct.path, end.struct.start_line), "")


def _finding(difference: StructDifference, change: ChangeSet) -> Finding:
    here, there = difference.here, difference.there
    struct = difference.changed.struct
    args = {
        "name": here.name,
        "here": here.value,
        "there": there.value,
        "at": there.location,
        "function": difference.changed.function.name,
        "other": difference.copy.function.name,
    }
    return Finding(
        rule=ID,
        severity=Severity.BUG,
        confidence=Confidence.HIGH,
        location=_changed_line(difference, change),
        message=Message("copies", args),
        symbol=struct.name,
        subject=difference.member,
        evidence=(here, there),
    )


def _changed_line(difference: StructDifference, change: ChangeSet) -> Location:
    """The first changed line in the struct, or of a constant; else the member."""
    place = difference.here.location
    struct = difference.changed.struct
    unit = change.unit(place.path)
    file = change.changed(place.path)
    if file is None:
        return place
    constants = {constant.line for constant in unit.constants} if unit is not None else set()
    for line in sorted(file.head_lines()):
        if struct.start_line <= line <= struct.end_line or line in constants:
            return Location(place.path, line)
    return place
