"""A copy of a message's constant keeps the value from before the change.

## What it does

The files that speak of one message often define its constants each for itself. Where the change
altered such a constant, every other definition of the same name is looked at that stands in a C++
file with an end of a message of the old layout, on the same hardware, and still has the old value.
The constants are those that a changed struct is made of, and those behind a layout that is misread.

## Why it matters

PaddlePaddle/FastDeploy#5026 set MAX_DRAFT_TOKENS to 2 in the Python reader and in two ops. A header
and a third op kept 6, so without logprobs every request but the first was decoded from a wrong
offset.

## Example

```cpp
#define MAX_DRAFT_TOKENS 2      // save.cc: was 6
#define MAX_DRAFT_TOKENS 6      // get.cc: the same message
```

## Known limits

Only definitions of the same name are looked at. Python copies are compared by
`protocol.layout-mismatch`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import (
    Confidence,
    Definition,
    Finding,
    Location,
    Message,
    Severity,
    Side,
)
from checks.domain.messages import MessageEnd
from checks.lang.ir.source_file import Constant
from checks.lang.source import language
from checks.rules.protocol._changed_ends import Layout, constant_at, end_before, layout_of
from checks.rules.protocol._layout_diff import LayoutDiff, layout_diff
from checks.rules.protocol._layout_findings import constant_definition, reported_places
from checks.rules.protocol._sides import LayoutSides

ID = "protocol.stale-constant"


@dataclass(frozen=True, slots=True)
class ChangedConstant:
    """A constant of the head that the change set from `old` to `new`."""

    constant: Constant
    old: int
    new: int


@dataclass(frozen=True, slots=True)
class StaleConstant:
    """A copy that keeps the old value of `change`."""

    copy: Constant
    change: ChangedConstant


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One finding at each changed constant, for all the copies that it left behind.

    Where that line is reported already for what misreads the message, each copy is reported for
    itself, on its own line.
    """
    diff = layout_diff(change, config)
    groups: dict[Location, list[StaleConstant]] = {}
    for stale in _stale_constants(diff):
        changed = stale.change.constant
        groups.setdefault(Location(changed.path, changed.line), []).append(stale)
    reported = reported_places(diff)
    for place, group in groups.items():
        if (place.path, place.start_line) not in reported:
            yield _finding(group, place, "left-behind", diff.sides)
            continue
        for stale in group:
            own_place = Location(stale.copy.path, stale.copy.line)
            yield _finding([stale], own_place, "stale-copy", diff.sides)


def _stale_constants(diff: LayoutDiff) -> Iterator[StaleConstant]:
    sides = diff.sides
    seen: set[tuple[str, int]] = set()
    for place, end in _constants_of_messages(diff).items():
        change = _constant_change(place, sides)
        old_end = end_before(end, sides.change, sides.base)
        if change is None or old_end is None:
            continue
        layout = _without_names(layout_of(old_end, sides.base))
        hardware = sides.config.hardware_of(end.unit.path)
        for copy in _copies_with_old_value(change, layout, hardware, sides):
            if (copy.path, copy.line) in seen or copy.path in (place.path, end.struct.path):
                continue
            seen.add((copy.path, copy.line))
            yield StaleConstant(copy, change)


def _constants_of_messages(diff: LayoutDiff) -> dict[Location, MessageEnd]:
    """Where the constants are defined that a message rests on, each with an end of that message."""
    ends: dict[Location, MessageEnd] = {}
    for mismatch in diff.mismatches:
        if mismatch.is_certain:
            for place in mismatch.python.rests_on:
                ends.setdefault(place, mismatch.end)
    for changed in diff.changed_ends:
        for place in _constants_of_struct(changed.new, diff.sides):
            ends.setdefault(place, changed.new)
    return ends


def _constants_of_struct(end: MessageEnd, sides: LayoutSides) -> Iterator[Location]:
    """The definitions that the sizes of an end's struct rest on."""
    home = sides.change.unit(end.struct.path) or end.unit
    for member in end.struct.members:
        for dim in member.dims:
            value = sides.head.constants.resolve(dim, home)
            if value is not None:
                yield from value.locations


def _constant_change(place: Location, sides: LayoutSides) -> ChangedConstant | None:
    """What the change did to the constant at `place`, None where that is not a new whole number."""
    change = sides.change
    file = change.changed(place.path)
    unit = change.unit(place.path)
    if file is None or unit is None or file.base_path is None:
        return None
    if not change.touches(place.path, place.start_line, place.end_line):
        return None
    old_unit = change.unit(file.base_path, Side.BASE)
    constant = constant_at(unit, place.start_line)
    if old_unit is None or constant is None:
        return None
    old_constants = [c for c in old_unit.constants if c.name == constant.name]
    if not old_constants:
        return None
    before = sides.base.constants.value_of(old_constants[0])
    after = sides.head.constants.value_of(constant)
    if before is None or after is None or before.value == after.value:
        return None
    if not isinstance(before.value, int) or not isinstance(after.value, int):
        return None
    return ChangedConstant(constant, int(before.value), int(after.value))


def _copies_with_old_value(
    change: ChangedConstant,
    layout: list[tuple[str, tuple[int | None, ...]]],
    hardware: str,
    sides: LayoutSides,
) -> Iterator[Constant]:
    """Other definitions of the constant that keep the old value.

    They stand in C++ files with an end of a message of `layout`: a copy of the same message,
    whatever its struct is called there.
    """
    for copy in sides.head.constants.definitions(change.constant.name):
        if language(copy.path) != "cpp" or sides.config.hardware_of(copy.path) != hardware:
            continue
        unit = sides.change.unit(copy.path)
        value = sides.head.constants.value_of(copy)
        if unit is None or value is None or value.value != change.old:
            continue
        for end in sides.head.ends_in(unit):
            if _without_names(layout_of(end, sides.head)) == layout:
                yield copy
                break


def _without_names(layout: Layout) -> list[tuple[str, tuple[int | None, ...]]]:
    """A copy of a struct may call its members otherwise."""
    return [(kind, dims) for _, kind, dims in layout]


def _finding(group: list[StaleConstant], place: Location, key: str, sides: LayoutSides) -> Finding:
    change = group[0].change
    changed = Location(change.constant.path, change.constant.line)
    copies = [Location(stale.copy.path, stale.copy.line) for stale in group]
    args = {
        "name": change.constant.name,
        "old": change.old,
        "new": change.new,
        "at": changed,
        "copies": copies,
        "ops": _ops_in_files(copies, sides),
        "count": len(copies),
    }
    return Finding(
        rule=ID,
        severity=Severity.SUGGESTION,
        confidence=Confidence.MEDIUM,
        location=place,
        message=Message(key, args),
        symbol=change.constant.name,
        subject=f"{change.constant.name} {change.old}",
        evidence=tuple(_definitions([changed, *copies], sides)),
    )


def _ops_in_files(places: list[Location], sides: LayoutSides) -> list[str]:
    """The ops whose messages the files of `places` send or receive."""
    ops: dict[str, None] = {}
    for place in places:
        unit = sides.change.unit(place.path)
        if unit is not None:
            for end in sides.head.ends_in(unit):
                ops.update(dict.fromkeys(end.ops))
    return list(ops)


def _definitions(places: list[Location], sides: LayoutSides) -> Iterator[Definition]:
    for place in places:
        definition = constant_definition(place, sides)
        if definition is not None:
            yield definition
