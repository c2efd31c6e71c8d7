"""Tests that agree with a reader whose writer has moved on: they go on passing with a layout that nothing writes."""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.finding import Confidence, Finding, Location, Message, Related, Severity
from checks.domain.indices.conventions import Meeting
from checks.rules.semantics import _report
from checks.rules.semantics._bound_conventions import Sides, has_own_writer, opposed
from checks.rules.semantics._fixture_checks import Trial, Trials


def outdated(sides: Sides, known: Trials, ops: set[str]) -> Iterator[Finding]:
    """Fixtures and references that keep a meaning which the change took from the writer alone, one finding a line."""
    for reader, writer in opposed(sides, ops):
        if not _moved_alone(sides, reader, writer) or has_own_writer(sides, reader, writer):
            continue
        groups: dict[tuple[str, int, str], list[Trial]] = {}
        for path in known.paths({reader.facts.name}):
            for trial in known.of(path):
                same = (
                    trial.op == reader.facts
                    and trial.convention == reader.convention
                    and not trial.guessed
                )
                if same and trial.last == reader.offset.const:
                    groups.setdefault((trial.path, trial.line, trial.kind), []).append(trial)
        for _, found in sorted(groups.items()):
            yield _finding(sides, found, reader, writer)


def _moved_alone(sides: Sides, reader: Meeting, writer: Meeting) -> bool:
    """Whether the two agreed before the change, and only the writer stores elsewhere now."""
    old = sides.before(reader.facts, reader.convention)
    return (
        sides.agreed(reader, writer) is True
        and old is not None
        and old.offset.const == reader.offset.const
    )


def _finding(sides: Sides, trials: list[Trial], reader: Meeting, writer: Meeting) -> Finding:
    library, trial = sides.head.library, trials[0]
    tests = sorted({t.test for t in trials})
    args = {
        "kind": trial.kind,
        "where": trial.function,
        "op": trial.op.name,
        "mine": _report.position(trial.convention.index, trial.last),
        "writer": writer.convention.access.function,
        "writes": _report.position(writer.convention.index, writer.offset),
        "tests": tests[:3],
        "count": len(tests),
    }
    return _report.finding(
        library,
        Location(trial.path, trial.line),
        Severity.SUGGESTION,
        Confidence.HIGH,
        Message("outdated", args),
        symbol=trial.function,
        evidence=(_report.stored(library, writer), _report.expected(library, reader)),
        related=(
            Related(
                _report.at(reader.convention.access), Message("compare-with", {"op": trial.op.name})
            ),
        ),
    )
