"""Shared by the rules about indices: positions written as code, and evidence with its lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from checks.core.finding import (
    Definition,
    DerivationStep,
    Edit,
    Finding,
    Fix,
    Location,
    Message,
    Related,
)
from checks.domain.indices.conventions import BoundConvention
from checks.domain.indices.op_index import OpIndex
from checks.eval.symbolic.affine import Offset
from checks.eval.symbolic.values import BufferAccess


def position(index: str, offset: Offset | int) -> str:
    """`step_idx - 1`: the position as code, without what both sides add to it."""
    const = _constant(offset)
    if const == 0:
        return index
    sign = "+" if const > 0 else "-"
    return f"{index} {sign} {abs(const)}"


def meaning(offset: Offset | int) -> str:
    """`count`, `last` or `other`: what the index is, in a word that the templates translate."""
    const = _constant(offset)
    if const == -1:
        return "count"
    return "last" if const == 0 else "other"


def _constant(offset: Offset | int) -> int:
    return offset if isinstance(offset, int) else offset.const


def access_location(access: BufferAccess) -> Location:
    return Location(access.path, access.first or access.line, access.line)


def meeting_location(meeting: BoundConvention) -> Location:
    """The lines on which the op addresses the buffer."""
    return access_location(meeting.convention.access)


def excerpt(library: OpIndex, place: Location) -> str:
    unit = library.unit(place.path)
    return unit.text(place.start_line, place.end_line) if unit else ""


def last_position(library: OpIndex, meeting: BoundConvention) -> Definition:
    """Evidence: where a writer puts the last token, or where a reader expects it."""
    place = meeting_location(meeting)
    value = position(meeting.convention.index, meeting.convention.offset)
    return Definition(meeting.buffer, place, value, excerpt(library, place))


def step(library: OpIndex, place: Location, key: str, **args: object) -> DerivationStep:
    return DerivationStep(place, excerpt(library, place), Message(key, args))


def call_sites(*meetings: BoundConvention) -> tuple[Related, ...]:
    """Where ops get their buffers."""
    places: list[Related] = []
    for meeting in meetings:
        args = {"op": meeting.facts.name, "buffer": meeting.buffer}
        location = Location(meeting.site.path, meeting.site.line)
        places.append(Related(location, Message("passed", args)))
    return tuple(places)


def shift_fix(library: OpIndex, place: Location, shift: int) -> Fix | None:
    """`place` without a written `+ 1` or `- 1`, where that moves its value by `shift`.

    Only a guess at the author's words: the review keeps it if the rule, run again, is satisfied by
    it.
    """
    if place.start_line != place.end_line:
        return None
    if shift == -1:
        written = " + 1"
    elif shift == 1:
        written = " - 1"
    else:
        return None
    line = excerpt(library, place)
    shifted = re.sub(re.escape(written) + r"(?![\w.])", "", line)
    if shifted == line:
        return None
    return Fix((Edit(place.path, place.start_line, place.end_line, (shifted,)),))


def without_repeats(findings: Iterable[Finding], *earlier: Iterable[Finding]) -> Iterator[Finding]:
    """Those of `findings` whose line none of the `earlier` ones speaks about.

    A line that is wrong is often noticed in several ways; people are told the one with the best
    proof.
    """
    found = list(findings)
    if not found:
        return
    places: set[Location] = set()
    for group in earlier:
        places.update(finding.location for finding in group)
    for finding in found:
        if finding.location not in places:
            yield finding
