"""The question a reviewer asks when one of two twins changes: should the other follow? Answered where it can be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from checks.core.finding import Confidence, Evidence, Finding, Location, Message, Related, Severity
from checks.domain.indices.conventions import Convention, Meeting
from checks.rules.semantics import _report
from checks.rules.semantics._bound_conventions import Sides
from checks.rules.semantics._fixture_checks import Trial, Trials


def answered(sides: Sides, known: Trials, moved: set[str], tests: set[str]) -> Iterator[Finding]:
    """For each op that keeps the addressing another op gave up, and is right to: both writers' lines, once."""
    trials = [t for path in sorted(tests) for t in known.of(path)] if moved else []
    told: set[str] = set()
    for op in sorted(moved):
        for changed in sides.head.meetings(op):
            old = sides.before(changed.facts, changed.convention)
            author = sides.head.writer(changed.facts, changed.convention)
            if (
                changed.convention.role != "read"
                or old is None
                or old.offset == changed.offset
                or author is None
            ):
                continue
            if author.offset != changed.offset or old.offset.const == changed.offset.const:
                continue
            for twin in sorted(_twins(sides, op, trials) - moved - told):
                found = _kept(sides, twin, changed, old)
                if found is not None:
                    told.add(twin)
                    yield _answer(sides, (changed, author), found, trials)


def _twins(sides: Sides, op: str, trials: list[Trial]) -> set[str]:
    """Ops that a reader of the change would hold next to `op`: tested in the same changed files, or built on the
    same local header."""
    library = sides.head.library
    found = {t.op.name for t in trials}
    mine = {i for f in library.facts(op) for i in _headers(sides, f.path)}
    for other, paths in library.ops.items():
        if mine & {i for path in paths for i in _headers(sides, path)}:
            found.add(other)
    return found


def _headers(sides: Sides, path: str) -> set[str]:
    """Base names of the headers of its own folder, or of a folder beside it, that a C++ file includes."""
    lines = sides.head.library.files.get(path, b"").split(b"\n")
    quoted = [
        line.split(b'"')[1].decode()
        for line in lines
        if line.startswith(b"#include") and line.count(b'"') == 2
    ]
    return {name.rsplit("/", 1)[-1] for name in quoted if name.endswith(".cuh")}


def _kept(
    sides: Sides, twin: str, changed: Meeting, old: Convention
) -> tuple[Meeting, Meeting] | None:
    """The twin's reader with the old addressing, and the writer of its buffer, which agrees with it."""
    for meeting in sides.head.meetings(twin):
        other = meeting.buffer != changed.buffer and meeting.convention.role == "read"
        if not other or meeting.convention.offset.const != old.offset.const:
            continue
        writer = sides.head.writer(meeting.facts, meeting.convention)
        if writer is not None and writer.offset == meeting.offset:
            return meeting, writer
    return None


def _answer(
    sides: Sides,
    changed: tuple[Meeting, Meeting],
    kept: tuple[Meeting, Meeting],
    trials: list[Trial],
) -> Finding:
    library = sides.head.library
    (reader, author), (twin, writer) = changed, kept
    fixtures = [
        t for t in trials if t.op.name == twin.facts.name and t.kind == "fixture" and not t.guessed
    ]
    right = next((t for t in fixtures if t.last == t.convention.offset.const), None)
    place = Location(right.path, right.line) if right else _report.at(reader.convention.access)
    args = _args(changed, kept, right.function if right else "")
    evidence: list[Evidence] = [
        _report.stored(library, author),
        _report.expected(library, reader),
        _report.stored(library, writer),
        _report.expected(library, twin),
    ]
    related = [
        Related(
            Location(m.site.path, m.site.line),
            Message("passed", {"op": m.facts.name, "buffer": m.buffer}),
        )
        for m in (reader, twin)
    ]
    found = _report.finding(
        library,
        place,
        Severity.QUESTION,
        Confidence.HIGH,
        Message("answered", args),
        symbol=right.function if right else reader.convention.access.function,
        evidence=evidence,
        related=related,
    )
    return replace(found, answered=True)


def _args(
    changed: tuple[Meeting, Meeting], kept: tuple[Meeting, Meeting], fixture: str
) -> dict[str, str]:
    (reader, author), (twin, writer) = changed, kept
    return {
        "op": reader.facts.name,
        "buffer": reader.buffer,
        "reads": _report.position(reader.convention.index, reader.offset),
        "author": author.convention.access.function,
        "twin": twin.facts.name,
        "twin_buffer": twin.buffer,
        "twin_reads": _report.position(twin.convention.index, twin.offset),
        "writer": writer.convention.access.function,
        "index": reader.convention.index,
        "fixture": fixture,
    }
