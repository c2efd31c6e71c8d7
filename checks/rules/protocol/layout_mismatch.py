"""The two ends of a message no longer agree on its layout.

## What it does

Follows a message from the struct that C++ sends and receives, through the op that hands it on, to the Python class that
owns the buffers, and puts both ends into numbers: sizes, offsets, strides and element types, with the constants of each
file put in, whatever they are called there. It reports what agreed before the change and does not after it. Struct
copies of sender and receiver are compared member by member, and copies of a changed constant that still have the old
value are named. Two messages of one struct name are told apart by the definition that each file sees.

## Why it matters

PaddlePaddle/FastDeploy#5026 set MAX_DRAFT_TOKENS to 2 in the Python reader and in two ops. A header and a third op kept
6, so without logprobs every request but the first was decoded from a wrong offset.

## Example

```python
MAX_DRAFT_TOKENS = 2        # was 6; speculate_msg.h: #define MAX_DRAFT_TOKENS 6
```

## Known limits

Strides that depend on the message itself (the number of columns) are not compared. A buffer must be an attribute of the
class that calls the op. What is compared through bytes or `reinterpret_cast` is not seen, and a flag that only the
sender's Python caller changed is not either.
"""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import (
    Confidence,
    Definition,
    Evidence,
    Finding,
    Location,
    Message,
    Severity,
)
from checks.lang.source import language
from checks.rules.protocol._buffer_reads import DTYPE, OFFSET, SIZE, STRIDE
from checks.rules.protocol._layout_diff import Apart, Sides, compare, receivers
from checks.rules.protocol._sentinels import Lost, lost
from checks.rules.protocol._struct_copies import (
    Split,
    Stale,
    constant_at,
    ends,
    splits,
    stale_copies,
)

ID = "protocol.layout-mismatch"

_MOST_EVIDENCE = 8
_ORDER = {STRIDE: 0, OFFSET: 1, DTYPE: 2, SIZE: 3}


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    if not any(language(f.path) and not config.is_test(f.path) for f in change.files):
        return
    both = Sides(change, config)
    changed = list(ends(change, both.head, both.base))
    reported: set[tuple[str, int]] = set()
    for split in splits(change, changed, both.head, both.base):
        yield _split_finding(split, change)
    readable = list(receivers(both, changed))
    apart = [a for one in readable for a in compare(one, both)]
    for finding in _reader_findings(apart, both):
        reported.add((finding.location.path, finding.location.start_line))
        yield finding
    behind = [(at, a.end) for a in apart if a.sure for at in a.python.rests_on]
    yield from _copy_findings(
        list(stale_copies(change, behind, changed, both.head, both.base)), reported, both
    )
    for one in lost(changed, readable, both):
        yield _sentinel_finding(one, change)


def _reader_findings(apart: list[Apart], both: Sides) -> Iterator[Finding]:
    """One finding for each op whose data is misread, else one for all that may write past a buffer of one size."""
    sure = [a for a in apart if a.sure]
    by_op: dict[str, list[Apart]] = {}
    for one in sorted(
        sure, key=lambda a: (_ORDER[a.python.kind], a.end.unit.path, a.python.place.start_line)
    ):
        by_op.setdefault(one.reading.op, []).append(one)
    for group in by_op.values():
        yield _finding("reader", group, both, Severity.BUG, Confidence.HIGH)
    loose = [a for a in apart if not a.sure and a.reading.op not in by_op and _too_small(a)]
    first = {a.reading.op: a for a in reversed(loose)}
    sizes: dict[tuple[object, object], list[Apart]] = {}
    for one in (a for a in loose if first[a.reading.op] is a):
        sizes.setdefault((one.python.value, one.cpp.value), []).append(one)
    for alike in sizes.values():
        yield _finding("capacity", alike, both, Severity.SUGGESTION, Confidence.MEDIUM)


def _too_small(apart: Apart) -> bool:
    return int(apart.python.value) < int(apart.cpp.value)


def _finding(
    key: str, group: list[Apart], both: Sides, severity: Severity, confidence: Confidence
) -> Finding:
    first = group[0]
    place = _anchor(first, both.change)
    ops = list(dict.fromkeys(a.reading.op for a in group))
    args = {
        "kind": first.python.kind, "op": first.reading.op, "ops": ops, "buffer": first.reading.buffer,
        "python": first.python.value, "cpp": first.cpp.value, "was": first.was, "reader": first.python.place,
        "sender": first.cpp.place, "struct": first.end.struct.name,
    }  # fmt: skip
    return Finding(
        rule=ID,
        severity=severity,
        confidence=confidence,
        location=place,
        message=Message(key, args),
        symbol=first.reading.owner,
        subject=f"{first.reading.op} {first.reading.buffer} {first.python.kind}",
        evidence=tuple(_evidence(group, both)),
    )


def _anchor(apart: Apart, change: ChangeSet) -> Location:
    """The changed line behind the disagreement: a constant before the expression that uses it, Python before C++."""
    for quantity in (apart.python, apart.cpp):
        for at in (*quantity.rests_on, quantity.place):
            if change.touches(at.path, at.start_line, at.end_line):
                return Location(at.path, at.start_line)
    return apart.python.place


def _evidence(group: list[Apart], both: Sides) -> Iterator[Evidence]:
    """Both ends with their numbers, then the constants behind them."""
    found: list[Definition] = []
    for one in group:
        name = one.reading.buffer
        found.append(Definition(name, one.python.place, str(one.python.value), one.python.excerpt))
        found.append(
            Definition(one.end.struct.name, one.cpp.place, str(one.cpp.value), one.cpp.excerpt)
        )
        found += [
            d
            for q in (one.python, one.cpp)
            for at in q.rests_on
            if (d := _constant(at, both)) is not None
        ]
    unique = {(d.location.path, d.location.start_line): d for d in reversed(found)}
    yield from [d for d in found if unique.pop((d.location.path, d.location.start_line), None)][
        :_MOST_EVIDENCE
    ]


def _constant(at: Location, both: Sides) -> Definition | None:
    unit = both.change.unit(at.path)
    constant = constant_at(unit, at.start_line) if unit is not None else None
    value = both.head.constants.value_of(constant) if constant is not None else None
    if unit is None or constant is None or value is None:
        return None
    return Definition(constant.name, at, str(value.value), unit.text(at.start_line).strip())


def _copy_findings(
    found: list[Stale], reported: set[tuple[str, int]], both: Sides
) -> Iterator[Finding]:
    """One finding at the changed constant for all copies that it left behind; each copy for itself where that line
    has been reported already for what reads the message."""
    groups: dict[tuple[str, int], list[Stale]] = {}
    for stale in found:
        groups.setdefault((stale.changed.path, stale.changed.line), []).append(stale)
    for place, group in groups.items():
        if place in reported:
            for one in group:
                yield _copy_finding(
                    [one], Location(one.constant.path, one.constant.line), "stale-copy", both
                )
        else:
            yield _copy_finding(group, Location(*place), "left-behind", both)


def _copy_finding(group: list[Stale], place: Location, key: str, both: Sides) -> Finding:
    first = group[0]
    there = Location(first.changed.path, first.changed.line)
    copies = [Location(s.constant.path, s.constant.line) for s in group]
    ops = [
        op
        for at in copies
        if (u := both.change.unit(at.path))
        for e in both.head.of_unit(u)
        for op in e.ops
    ]
    args = {
        "name": first.constant.name, "old": first.old, "new": first.new, "at": there, "copies": copies,
        "ops": list(dict.fromkeys(ops)), "count": len(copies),
    }  # fmt: skip
    return Finding(
        rule=ID,
        severity=Severity.SUGGESTION,
        confidence=Confidence.MEDIUM,
        location=place,
        message=Message(key, args),
        symbol=first.constant.name,
        subject=f"{first.constant.name} {first.old}",
        evidence=tuple(d for at in (there, *copies) if (d := _constant(at, both)) is not None),
    )


def _sentinel_finding(one: Lost, change: ChangeSet) -> Finding:
    touched = [
        at
        for at in (*one.now.rests_on, one.now.place)
        if change.touches(at.path, at.start_line, at.end_line)
    ]
    args = {
        "was": one.was, "now": one.now.value, "at": one.other.place, "sender": one.sender_changed,
        "struct": one.end.struct.name,
    }  # fmt: skip
    return Finding(
        rule=ID,
        severity=Severity.BUG,
        confidence=Confidence.MEDIUM,
        location=touched[0] if touched else one.now.place,
        message=Message("sentinel", args),
        symbol=one.end.struct.name,
        subject=f"{one.was} {one.now.value}",
        evidence=(
            one.now.definition(one.end.struct.name),
            one.other.definition(one.end.struct.name),
        ),
    )


def _split_finding(split: Split, change: ChangeSet) -> Finding:
    place = split.here.location
    args = {
        "name": split.here.name, "here": split.here.value, "there": split.there.value, "at": split.there.location,
        "function": split.one.function.name, "other": split.other.function.name,
    }  # fmt: skip
    unit = change.unit(place.path)
    file = change.changed(place.path)
    struct = split.one.struct
    lines = sorted(file.head_lines()) if file is not None else []
    constants = {c.line for c in unit.constants} if unit is not None else set()
    inside = [n for n in lines if struct.start_line <= n <= struct.end_line or n in constants]
    return Finding(
        rule=ID,
        severity=Severity.BUG,
        confidence=Confidence.HIGH,
        location=Location(place.path, inside[0]) if inside else place,
        message=Message("copies", args),
        symbol=split.one.struct.name,
        subject=split.name,
        evidence=(split.here, split.there),
    )
