"""Readers against the writer of their buffer, and one hardware's copy of an op against the other's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Message, Related, Severity, Sibling
from checks.domain.indices.conventions import Convention, Meeting, Product, of_op
from checks.domain.indices.op_index import OpFacts
from checks.eval.symbolic.affine import Offset
from checks.rules.semantics import _report


@dataclass
class Sides:
    """The product after and before the change."""

    head: Product
    base: Product
    config: Config

    def before(self, facts: OpFacts, convention: Convention) -> Convention | None:
        """The same function's convention before the change: by name, for the same role and parameters."""
        wanted = convention.same_place
        for old in self.base.library.facts(facts.name):
            if old.hardware != facts.hardware:
                continue
            for other in of_op(old):
                path = self.was(wanted[3])
                if other.same_place == (*wanted[:3], path, wanted[4]):
                    return other
        return None

    def was(self, path: str) -> str:
        change = self.head.library.change.changed(path)
        return change.base_path if change is not None and change.base_path else path

    def moved(self, op: str) -> bool:
        """Whether any convention of `op` is another one after the change, or new, or gone."""
        return any(
            self._moved(now, then)
            for now in self.head.library.facts(op)
            for then in [
                next((f for f in self.base.library.facts(op) if f.hardware == now.hardware), None)
            ]
        )

    @staticmethod
    def _moved(now: OpFacts, then: OpFacts | None) -> bool:
        old = (
            {(c.role, c.buffer, c.index, c.access.function, c.offset) for c in of_op(then)}
            if then
            else set()
        )
        new = {(c.role, c.buffer, c.index, c.access.function, c.offset) for c in of_op(now)}
        return old != new or (
            then is not None and dict(now.advances).keys() != dict(then.advances).keys()
        )

    def agreed(self, reader: Meeting, writer: Meeting) -> bool | None:
        """Whether the two agreed before the change; None where they did not both exist and meet."""
        old_reader = self.before(reader.facts, reader.convention)
        old_writer = self.before(writer.facts, writer.convention)
        if old_reader is None or old_writer is None:
            return None
        met = self.met(reader, old_reader) and self.met(writer, old_writer)
        return old_reader.offset.const == old_writer.offset.const if met else None

    def met(self, meeting: Meeting, old: Convention) -> bool:
        """Whether the op had this buffer and index before the change too."""
        return any(
            m.convention == old and (m.buffer, m.index) == (meeting.buffer, meeting.index)
            for m in self.base.meetings(meeting.facts.name)
        )

    def same_as_before(self, reader: Meeting, writer: Meeting) -> bool:
        """Whether reader, writer and where they meet are as they were: a disagreement this change did not make."""
        then = [self.before(m.facts, m.convention) for m in (reader, writer)]
        return all(
            old is not None and old.offset == m.convention.offset and self.met(m, old)
            for old, m in zip(then, (reader, writer), strict=True)
        )


def disagreements(sides: Sides, ops: set[str]) -> Iterator[Finding]:
    """One finding for each pair that is `opposed`."""
    for reader, writer in opposed(sides, ops):
        yield _disagreement(sides, reader, writer)


def opposed(sides: Sides, ops: set[str]) -> Iterator[tuple[Meeting, Meeting]]:
    """Every reader that does not look where the settled writer of its buffer stores, one of them in `ops`."""
    seen: set[tuple[object, object]] = set()
    for op in sorted(ops):
        for meeting in sides.head.meetings(op):
            if meeting.convention.role == "write" and not meeting.settled:
                continue
            for other in sides.head.partners(meeting):
                reader, writer = (
                    (meeting, other) if meeting.convention.role == "read" else (other, meeting)
                )
                key = (reader.convention, writer.convention)
                if key in seen or not writer.settled or reader.offset.loads != writer.offset.loads:
                    continue
                seen.add(key)
                if sides.head.buffers.exclusive(reader.site, writer.site):
                    continue
                if reader.offset.const != writer.offset.const and not sides.same_as_before(
                    reader, writer
                ):
                    yield reader, writer


def _disagreement(sides: Sides, reader: Meeting, writer: Meeting) -> Finding:
    library = sides.head.library
    beyond = reader.offset.const > writer.offset.const
    proved = (beyond or sides.agreed(reader, writer) is True) and not has_own_writer(
        sides, reader, writer
    )
    access = reader.convention.access
    args = {
        "function": access.function,
        "op": reader.facts.name,
        "buffer": reader.buffer,
        "reads": _report.position(reader.convention.index, reader.offset),
        "writes": _report.position(writer.convention.index, writer.offset),
        "writer": writer.convention.access.function,
        "meaning": _report.kind(writer.offset),
        "beyond": beyond,
        "index": reader.convention.index,
    }
    found = _report.finding(
        library,
        _report.at(access),
        Severity.BUG if proved else Severity.QUESTION,
        Confidence.HIGH if proved else Confidence.MEDIUM,
        Message("reader", args),
        symbol=access.function,
        evidence=(_report.stored(library, writer), _report.expected(library, reader)),
        related=tuple(call_sites(reader, writer)),
    )
    gap = writer.offset.const - reader.offset.const
    return found.with_fix(_report.nudge(library, found.location, gap)) if proved else found


def has_own_writer(sides: Sides, reader: Meeting, writer: Meeting) -> bool:
    """Whether the function that calls the reader also calls another writer of the buffer that agrees with it."""
    return any(
        other.offset == reader.offset
        and other.convention != writer.convention
        and (other.settled or other.site.function == reader.site.function)
        for other in sides.head.partners(reader)
    )


def call_sites(reader: Meeting, writer: Meeting) -> Iterator[Related]:
    """Where the two ops get their buffer."""
    for meeting in (reader, writer):
        place = Location(meeting.site.path, meeting.site.line)
        yield Related(
            place, Message("passed", {"op": meeting.facts.name, "buffer": meeting.buffer})
        )


def copies(sides: Sides, ops: set[str]) -> Iterator[Finding]:
    """Copies of a changed op on other hardware, or on the CPU, that agreed with it before and do not now."""
    for op in sorted(ops):
        entries = [(f, c) for f in sides.head.library.facts(op) for c in of_op(f)]
        told: set[tuple[str, str]] = set()
        for facts, moved in entries:
            old = sides.before(facts, moved)
            if old is None or old.offset == moved.offset:
                continue
            for twin, kept in entries:
                if kept.role != moved.role or kept.same_place == moved.same_place:
                    continue
                place = (kept.access.path, kept.access.function)
                if place not in told and _left_behind(
                    sides, (twin, kept), moved.offset, old.offset
                ):
                    told.add(place)
                    yield _copy(sides, (facts, moved), (twin, kept))


def _left_behind(sides: Sides, twin: tuple[OpFacts, Convention], now: Offset, then: Offset) -> bool:
    """Whether the twin kept the offset that the changed copy had."""
    before = sides.before(*twin)
    kept = twin[1].offset
    return before is not None and before.offset == kept and kept.const == then.const != now.const


def _copy(
    sides: Sides, moved: tuple[OpFacts, Convention], kept: tuple[OpFacts, Convention]
) -> Finding:
    library = sides.head.library
    facts, new = moved
    twin, old = kept
    place = _report.at(old.access)
    args = {
        "op": facts.name,
        "function": old.access.function,
        "changed": new.access.function,
        "role": new.role,
        "now": _report.position(new.index, new.offset),
        "kept": _report.position(old.index, old.offset),
        "hardware": twin.hardware if twin.hardware != facts.hardware else "",
        "changed_hardware": facts.hardware if twin.hardware != facts.hardware else "",
    }
    other = _report.at(new.access)
    evidence = Sibling(
        other,
        new.access.function,
        facts.hardware,
        Message("copy-now", args),
        _report.excerpt(library, other),
    )
    same = twin.hardware == facts.hardware
    return _report.finding(
        library,
        place,
        Severity.BUG if same and old.role == "write" else Severity.QUESTION,
        Confidence.MEDIUM,
        Message("copy", args),
        symbol=old.access.function,
        evidence=(evidence,),
    )
