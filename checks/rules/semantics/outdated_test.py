"""A test goes on passing with a layout that the changed writer does not write any more.

## What it does

Where a change moves the writer of a buffer and leaves a reader as it was, looks for the fixtures
and reference implementations of that reader's tests. Those that have the old layout too are named:
they keep the test green although the product does not work any more.

## Why it matters

PaddlePaddle/FastDeploy#7370 moved the writer of the token history. The tests of `ngram_match` set
up the old layout themselves until #7774, five weeks later, corrected them with the op.

## Example

```python
hist[b, 8 : 8 + made] = tokens
step_idx[b] = made    # the writer now puts the k-th token at k: the last one is at step_idx
```

## Known limits

A fixture written as a literal or element by element is left out. A line that `semantics.step-idx`
speaks about is left to it.
"""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Message, Related, Severity
from checks.domain.indices.conventions import BoundConvention
from checks.rules.semantics import _report, step_idx
from checks.rules.semantics._comparison import IndexComparison, compare_indices
from checks.rules.semantics._fixture_checks import FixtureCheck
from checks.rules.semantics._opposed_readers import has_own_writer, opposed_readers

ID = "semantics.outdated-test"

# How many tests a finding names.
_MOST_TESTS = 3


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    indices = compare_indices(change, config)
    if indices is None:
        return
    yield from _report.without_repeats(
        find_outdated_tests(indices),
        step_idx.run(change, config),
    )


def find_outdated_tests(indices: IndexComparison) -> Iterator[Finding]:
    """Fixtures and references that keep a meaning which the change took from the writer alone."""
    for reader, writer in opposed_readers(indices):
        if not _only_writer_moved(indices, reader, writer):
            continue
        # The tests may be made for that other writer.
        if has_own_writer(indices, reader, writer):
            continue
        groups: dict[tuple[str, int, str], list[FixtureCheck]] = {}
        for check in _checks_of_reader(indices, reader):
            groups.setdefault((check.path, check.line, check.kind), []).append(check)
        for _, checks in sorted(groups.items()):
            yield _finding(indices, checks, reader, writer)


def _only_writer_moved(
    indices: IndexComparison, reader: BoundConvention, writer: BoundConvention
) -> bool:
    """Whether the two agreed before the change, and only the writer stores elsewhere now."""
    if indices.agreed_before(reader, writer) is not True:
        return False
    old = indices.convention_before(reader.facts, reader.convention)
    return old is not None and old.offset.const == reader.offset.const


def _checks_of_reader(indices: IndexComparison, reader: BoundConvention) -> Iterator[FixtureCheck]:
    """The fixtures and references that take the same position as the reader."""
    for path in indices.head_fixtures.paths({reader.facts.name}):
        for check in indices.head_fixtures.of(path):
            if check.guessed or check.op != reader.facts:
                continue
            if check.convention == reader.convention and check.last == reader.offset.const:
                yield check


def _finding(
    indices: IndexComparison,
    checks: list[FixtureCheck],
    reader: BoundConvention,
    writer: BoundConvention,
) -> Finding:
    library = indices.head.library
    check = checks[0]
    tests = sorted({c.test for c in checks})
    args = {
        "kind": check.kind,
        "where": check.function,
        "op": check.op.name,
        "mine": _report.position(check.convention.index, check.last),
        "writer": writer.convention.access.function,
        "writes": _report.position(writer.convention.index, writer.offset),
        "tests": tests[:_MOST_TESTS],
        "count": len(tests),
    }
    compared = Related(
        _report.meeting_location(reader), Message("compare-with", {"op": check.op.name})
    )
    place = Location(check.path, check.line)
    return Finding(
        rule=ID,
        severity=Severity.SUGGESTION,
        confidence=Confidence.HIGH,
        location=place,
        message=Message("outdated", args),
        symbol=check.function,
        subject=_report.excerpt(library, place),
        evidence=(_report.last_position(library, writer), _report.last_position(library, reader)),
        related=(compared,),
    )
