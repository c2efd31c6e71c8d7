"""From conventions to findings: positions as code, evidence with its lines, messages by key."""

from __future__ import annotations

import re
from collections.abc import Iterable

from checks.core.finding import (
    Confidence,
    Definition,
    Edit,
    Evidence,
    Finding,
    Fix,
    Location,
    Message,
    Related,
    Severity,
    Step,
)
from checks.domain.indices.conventions import Meeting
from checks.domain.indices.op_index import Library
from checks.eval.symbolic.affine import Offset
from checks.eval.symbolic.values import Access

ID = "semantics.step-idx"


def position(index: str, offset: Offset | int) -> str:
    """`step_idx - 1`: the position as code, without what both sides add to it."""
    const = offset if isinstance(offset, int) else offset.const
    return f"{index} {'+' if const > 0 else '-'} {abs(const)}" if const else index


def at(access: Access) -> Location:
    return Location(access.path, access.first or access.line, access.line)


def excerpt(library: Library, place: Location) -> str:
    unit = library.unit(place.path)
    return unit.text(place.start_line, place.end_line) if unit else ""


def stored(library: Library, writer: Meeting) -> Definition:
    """Evidence: where a writer puts the last token."""
    place = at(writer.convention.access)
    value = position(writer.convention.index, writer.convention.offset)
    return Definition(writer.buffer, place, value, excerpt(library, place))


def expected(library: Library, reader: Meeting) -> Definition:
    """Evidence: where a reader expects the last token."""
    place = at(reader.convention.access)
    value = position(reader.convention.index, reader.convention.offset)
    return Definition(reader.buffer, place, value, excerpt(library, place))


def step(library: Library, place: Location, key: str, **args: object) -> Step:
    return Step(place, excerpt(library, place), Message(key, args))


def kind(offset: Offset | int) -> str:
    """`count`, `last` or `other`: the meaning in one word, chosen in the templates."""
    const = offset if isinstance(offset, int) else offset.const
    return {-1: "count", 0: "last"}.get(const, "other")


def nudge(library: Library, place: Location, delta: int) -> Fix | None:
    """The line of `place` with a written `+ 1` or `- 1` taken away, where that moves its value by `delta`.

    Only a guess at the author's words: the review keeps it if the rule, run again, is satisfied by it.
    """
    extra = {-1: " + 1", 1: " - 1"}.get(delta)
    line = excerpt(library, place)
    if extra is None or place.start_line != place.end_line:
        return None
    new = re.sub(re.escape(extra) + r"(?![\w.])", "", line)
    return (
        Fix((Edit(place.path, place.start_line, place.end_line, (new,)),)) if new != line else None
    )


def finding(
    library: Library,
    place: Location,
    severity: Severity,
    confidence: Confidence,
    message: Message,
    *,
    symbol: str,
    evidence: Iterable[Evidence] = (),
    related: Iterable[Related] = (),
) -> Finding:
    subject = excerpt(library, place)
    return Finding(
        ID,
        severity,
        confidence,
        place,
        message,
        symbol=symbol,
        subject=subject,
        evidence=tuple(evidence),
        related=tuple(related),
    )
