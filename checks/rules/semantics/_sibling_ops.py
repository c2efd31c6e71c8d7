"""Copies of a changed op on other hardware, found by name, against the writers of their own hardware."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Message, Severity, Sibling
from checks.domain.indices.conventions import Meeting
from checks.domain.indices.op_index import Library
from checks.rules.semantics import _report
from checks.rules.semantics._bound_conventions import Sides, call_sites, has_own_writer


def left_behind(sides: Sides, ops: set[str]) -> Iterator[Finding]:
    """Readers that keep the address which the change corrected in their copy, and are wrong in the same way.

    Each is held against the writer of its own hardware: what it says was so before the change.
    """
    told: set[object] = set()
    for op in sorted(ops):
        for changed in _corrected(sides, op):
            old = sides.before(changed.facts, changed.convention)
            for name in namesakes(sides.head.library, op, sides.config):
                for kept in sides.head.meetings(name) if old is not None else ():
                    same = old is not None and kept.offset.const == old.offset.const
                    other = (
                        kept.convention.role == "read"
                        and kept.facts.hardware != changed.facts.hardware
                    )
                    writer = (
                        sides.head.writer(kept.facts, kept.convention) if same and other else None
                    )
                    wrong = writer is not None and writer.offset.const != kept.offset.const
                    if writer is not None and wrong and kept.convention not in told:
                        told.add(kept.convention)
                        yield _finding(sides, changed, kept, writer)


def _corrected(sides: Sides, op: str) -> Iterator[Meeting]:
    """Readers of `op` that the change brought in line with the writer of their buffer."""
    for meeting in sides.head.meetings(op):
        old = sides.before(meeting.facts, meeting.convention)
        if (
            meeting.convention.role != "read"
            or old is None
            or old.offset.const == meeting.offset.const
        ):
            continue
        writer = sides.head.writer(meeting.facts, meeting.convention)
        if writer is not None and writer.offset == meeting.offset:
            yield meeting


def namesakes(library: Library, op: str, config: Config) -> list[str]:
    """`op` and the ops that are named like it but for a word for hardware, or are alone in a file named like its."""
    hardware = {kind.name for kind in config.hardware}
    stems = {_stem(path, hardware) for path in library.ops.get(op, ()) if _alone(library, path)}
    return sorted(
        name
        for name, paths in library.ops.items()
        if _plain(name, hardware) == _plain(op, hardware)
        or any(_stem(path, hardware) in stems and _alone(library, path) for path in paths)
    )


def _plain(name: str, hardware: set[str]) -> tuple[str, ...]:
    return tuple(word for word in name.lower().split("_") if word not in hardware)


def _stem(path: str, hardware: set[str]) -> tuple[str, ...]:
    return _plain(posixpath.basename(path).partition(".")[0], hardware)


def _alone(library: Library, path: str) -> bool:
    return sum(path in paths for paths in library.ops.values()) == 1


def _finding(sides: Sides, changed: Meeting, kept: Meeting, writer: Meeting) -> Finding:
    library = sides.head.library
    beyond = kept.offset.const > writer.offset.const
    proved = beyond and not has_own_writer(sides, kept, writer)
    access, now = kept.convention.access, changed.convention.access
    args = {
        "function": access.function,
        "op": kept.facts.name,
        "hardware": kept.facts.hardware,
        "buffer": kept.buffer,
        "reads": _report.position(kept.convention.index, kept.offset),
        "writes": _report.position(writer.convention.index, writer.offset),
        "writer": writer.convention.access.function,
        "changed": changed.facts.name,
        "changed_hardware": changed.facts.hardware,
        "now": _report.position(changed.convention.index, changed.offset),
        "beyond": beyond,
    }
    place = _report.at(now)
    text = _report.excerpt(library, place)
    corrected = Sibling(
        place, now.function, changed.facts.hardware, Message("corrected", args), text
    )
    found = _report.finding(
        library,
        _report.at(access),
        Severity.BUG if proved else Severity.QUESTION,
        Confidence.HIGH if proved else Confidence.MEDIUM,
        Message("left-behind", args),
        symbol=access.function,
        evidence=(_report.stored(library, writer), _report.expected(library, kept), corrected),
        related=tuple(call_sites(kept, writer)),
    )
    gap = writer.offset.const - kept.offset.const
    return found.with_fix(_report.nudge(library, found.location, gap)) if proved else found
