"""Mismatches grouped for a person: what is misread for sure, and buffers that became too small."""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.finding import (
    Confidence,
    Definition,
    Finding,
    Location,
    Message,
    Severity,
)
from checks.rules.protocol._changed_ends import constant_at
from checks.rules.protocol._layout_diff import LayoutDiff, LayoutMismatch
from checks.rules.protocol._layout_numbers import DTYPE, OFFSET, SIZE, STRIDE, LayoutNumber
from checks.rules.protocol._sides import LayoutSides

_MOST_EVIDENCE = 8
# Of several mismatches of one op, the one that misplaces the most data is told.
_TOLD_FIRST = {STRIDE: 0, OFFSET: 1, DTYPE: 2, SIZE: 3}


def misread_groups(mismatches: list[LayoutMismatch]) -> list[list[LayoutMismatch]]:
    """The certain mismatches, one group for each op whose data is misread."""
    groups: dict[str, list[LayoutMismatch]] = {}
    for mismatch in sorted(mismatches, key=_importance):
        if mismatch.is_certain:
            groups.setdefault(mismatch.read.op, []).append(mismatch)
    return list(groups.values())


def small_buffer_groups(mismatches: list[LayoutMismatch]) -> list[list[LayoutMismatch]]:
    """Buffers that may be too small, one group for each pair of sizes: the first of each op.

    An op whose data is misread for sure is left out.
    """
    misread = {mismatch.read.op for mismatch in mismatches if mismatch.is_certain}
    first_of_op: dict[str, LayoutMismatch] = {}
    for mismatch in mismatches:
        if mismatch.read.op not in misread and mismatch.is_too_small:
            first_of_op.setdefault(mismatch.read.op, mismatch)
    groups: dict[tuple[object, object], list[LayoutMismatch]] = {}
    for mismatch in first_of_op.values():
        sizes = (mismatch.python.value, mismatch.cpp.value)
        groups.setdefault(sizes, []).append(mismatch)
    return list(groups.values())


def _importance(mismatch: LayoutMismatch) -> tuple[int, str, int]:
    number = mismatch.python
    return _TOLD_FIRST[number.kind], mismatch.end.unit.path, number.place.start_line


def reported_places(diff: LayoutDiff) -> set[tuple[str, int]]:
    """The (path, line) of every finding about a mismatch."""
    groups = misread_groups(diff.mismatches) + small_buffer_groups(diff.mismatches)
    places = [_changed_line(group[0], diff.sides) for group in groups]
    return {(place.path, place.start_line) for place in places}


def mismatch_finding(
    rule: str,
    key: str,
    group: list[LayoutMismatch],
    sides: LayoutSides,
    severity: Severity,
    confidence: Confidence,
) -> Finding:
    """One finding for a group; its first mismatch is the one that the sentence names."""
    first = group[0]
    read = first.read
    ops = dict.fromkeys(mismatch.read.op for mismatch in group)
    args = {
        "kind": first.python.kind,
        "op": read.op,
        "ops": list(ops),
        "buffer": read.buffer,
        "python": first.python.value,
        "cpp": first.cpp.value,
        "was": first.was,
        "reader": first.python.place,
        "sender": first.cpp.place,
        "struct": first.end.struct.name,
    }
    return Finding(
        rule=rule,
        severity=severity,
        confidence=confidence,
        location=_changed_line(first, sides),
        message=Message(key, args),
        symbol=read.owner,
        subject=f"{read.op} {read.buffer} {first.python.kind}",
        evidence=tuple(_evidence(group, sides)[:_MOST_EVIDENCE]),
    )


def _changed_line(mismatch: LayoutMismatch, sides: LayoutSides) -> Location:
    """The changed line behind a mismatch: a constant before the expression that uses it, Python
    before C++."""
    for number in (mismatch.python, mismatch.cpp):
        for place in (*number.rests_on, number.place):
            if sides.change.touches(place.path, place.start_line, place.end_line):
                return Location(place.path, place.start_line)
    return mismatch.python.place


def _evidence(group: list[LayoutMismatch], sides: LayoutSides) -> list[Definition]:
    """Both ends with their numbers, then the constants behind them; each line once."""
    by_place: dict[tuple[str, int], Definition] = {}
    for mismatch in group:
        for definition in _definitions(mismatch, sides):
            place = definition.location
            by_place.setdefault((place.path, place.start_line), definition)
    return list(by_place.values())


def _definitions(mismatch: LayoutMismatch, sides: LayoutSides) -> Iterator[Definition]:
    yield _number_definition(mismatch.read.buffer, mismatch.python)
    yield _number_definition(mismatch.end.struct.name, mismatch.cpp)
    for number in (mismatch.python, mismatch.cpp):
        for place in number.rests_on:
            definition = constant_definition(place, sides)
            if definition is not None:
                yield definition


def _number_definition(name: str, number: LayoutNumber) -> Definition:
    return Definition(name, number.place, str(number.value), number.excerpt)


def constant_definition(place: Location, sides: LayoutSides) -> Definition | None:
    """The constant that is defined at `place`, with its value in the head."""
    unit = sides.change.unit(place.path)
    if unit is None:
        return None
    constant = constant_at(unit, place.start_line)
    if constant is None:
        return None
    value = sides.head.constants.value_of(constant)
    if value is None:
        return None
    excerpt = unit.excerpt(place.start_line)
    return Definition(constant.name, place, str(value.value), excerpt)
