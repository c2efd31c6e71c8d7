"""Tests that disagree with the op they call, grouped by the line that one finding is about."""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.finding import (
    Confidence,
    Evidence,
    Finding,
    Location,
    Message,
    Related,
    Severity,
)
from checks.domain.indices.conventions import BoundConvention
from checks.rules.semantics import _report
from checks.rules.semantics._comparison import IndexComparison
from checks.rules.semantics._fixture_checks import FixtureCheck

# How many tests a finding names, and how many of their lines it quotes.
MOST_TESTS = 3
MOST_LINES = 4


def find_wrong_tests(indices: IndexComparison, rule: str) -> Iterator[Finding]:
    """Fixtures and references that disagree with an op which nothing else speaks against."""
    for checks in _disagreements(indices):
        if _writer_for_test(indices, checks[0]) is None:
            yield _finding(indices, checks, rule, blames_op=False)


def find_wrong_ops(indices: IndexComparison, rule: str) -> Iterator[Finding]:
    """Ops with which both their tests and the writer of their buffer disagree."""
    for checks in _disagreements(indices):
        if _writer_for_test(indices, checks[0]) is not None:
            yield _finding(indices, checks, rule, blames_op=True)


def _disagreements(indices: IndexComparison) -> list[list[FixtureCheck]]:
    """Fixtures and references that disagree with the op now and did not, in this way, before."""
    tests = indices.head_fixtures
    groups: dict[tuple[object, ...], list[FixtureCheck]] = {}
    for path in sorted({*tests.paths(indices.moved_ops), *indices.changed_tests}):
        for check in _new_disagreements(indices, path):
            groups.setdefault(_group(indices, check), []).append(check)
    ordered = sorted(groups.items(), key=lambda item: str(item[0]))
    return [sorted(checks, key=_most_certain_first) for _, checks in ordered]


def _new_disagreements(indices: IndexComparison, path: str) -> Iterator[FixtureCheck]:
    wrong = [check for check in indices.head_fixtures.of(path) if not check.agrees]
    if not wrong:
        return
    before = indices.base_fixtures.of(indices.base_path(path))
    known = {(check.place, check.last, check.convention.offset) for check in before}
    for check in wrong:
        # A new fixture that is only guessed at may mean to fill less.
        if check.guessed and not _agreed_before(indices, check):
            continue
        # A test that disagreed before in the same way may have its reasons.
        if (check.place, check.last, check.convention.offset) not in known:
            yield check


def _most_certain_first(check: FixtureCheck) -> tuple[bool, str, str, int, str]:
    return check.guessed, check.kind, check.path, check.line, check.test


def _group(indices: IndexComparison, check: FixtureCheck) -> tuple[object, ...]:
    """What one finding is about: the test's line, or the op's where its writer is for the test."""
    if _writer_for_test(indices, check) is not None:
        access = check.convention.access
        return "op", access.path, access.line
    return "test", check.path, check.line, check.op.name, check.kind


def _writer(indices: IndexComparison, check: FixtureCheck) -> BoundConvention | None:
    """The settled writer of the buffer that the op reads."""
    if check.convention.role != "read":
        return None
    return indices.head.writer(check.op, check.convention)


def _writer_for_test(indices: IndexComparison, check: FixtureCheck) -> BoundConvention | None:
    """The settled writer that agrees with the test and not with the op."""
    writer = _writer(indices, check)
    if writer is None or writer.convention.offset.const != check.last:
        return None
    return writer


def _agreed_before(indices: IndexComparison, check: FixtureCheck) -> bool:
    """Whether the same fixture or reference agreed with the op before the change."""
    before = indices.base_fixtures.of(indices.base_path(check.path))
    return any(old.place == check.place and old.agrees for old in before)


def _finding(
    indices: IndexComparison, checks: list[FixtureCheck], rule: str, *, blames_op: bool
) -> Finding:
    check = checks[0]
    library = indices.head.library
    access = check.convention.access
    op_place = _report.access_location(access)
    test_place = Location(check.path, check.line)
    place, other_place = (op_place, test_place) if blames_op else (test_place, op_place)
    symbol = access.function if blames_op else check.function
    # Proved is what agreed before: a new fixture may mean to fill less.
    proved = not check.guessed and _agreed_before(indices, check)
    args = _args(indices, checks, blames_op=blames_op)
    finding = Finding(
        rule=rule,
        severity=Severity.BUG if proved else Severity.QUESTION,
        confidence=Confidence.HIGH if proved else Confidence.MEDIUM,
        location=place,
        message=Message("against-test" if blames_op else check.kind, args),
        symbol=symbol,
        subject=_report.excerpt(library, place),
        evidence=tuple(_evidence(indices, checks, args)),
        related=(Related(other_place, Message("compare-with", {"op": check.op.name})),),
    )
    if not proved:
        return finding
    shift = _needed_shift(check, blames_op=blames_op)
    return finding.with_fix(_report.shift_fix(library, place, shift))


def _args(
    indices: IndexComparison, checks: list[FixtureCheck], *, blames_op: bool
) -> dict[str, object]:
    check = checks[0]
    where, other = check.function, check.convention.access.function
    if blames_op:
        where, other = other, where
    writer = _writer(indices, check)
    index = check.convention.index
    tests = sorted({c.test for c in checks})
    return {
        "kind": check.kind,
        "op": check.op.name,
        "where": where,
        "other": other,
        "tests": tests[:MOST_TESTS],
        "count": len(tests),
        "mine": _report.position(index, check.last),
        "reads": _report.position(index, check.convention.offset),
        "role": check.convention.role,
        "writer": writer.convention.access.function if writer else "",
    }


def _evidence(
    indices: IndexComparison, checks: list[FixtureCheck], args: dict[str, object]
) -> list[Evidence]:
    """The lines of the op, of the tests, and of the writer."""
    library = indices.head.library
    op_place = _report.access_location(checks[0].convention.access)
    evidence: list[Evidence] = [_report.step(library, op_place, "op-looks", **args)]
    lines = list(dict.fromkeys((check.path, check.line) for check in checks))
    for path, line in lines[:MOST_LINES]:
        evidence.append(_report.step(library, Location(path, line), "test-says", **args))
    writer = _writer(indices, checks[0])
    if writer is not None:
        place = _report.meeting_location(writer)
        evidence.append(_report.step(library, place, "writer-stores", **args))
    return evidence


def _needed_shift(check: FixtureCheck, *, blames_op: bool) -> int:
    """How far the line must move: of the op's address, the reference's, or the fixture's index."""
    gap = check.last - check.convention.offset.const
    return gap if blames_op or check.kind == "fixture" else -gap
