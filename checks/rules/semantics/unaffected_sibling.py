"""Of two similar ops one is changed, and the other is right to stay: a question answered.

## What it does

When a reader is moved to where its buffer's writer stores, and an op beside it (tested in the same
changed files, or built on the same local header) keeps the old address, asks whose buffer that op
reads. If it is another buffer whose writer agrees with the old address, the finding says so once,
with the lines of both writers. It asks nothing of the author, and no verdict counts it.

## Why it matters

In PaddlePaddle/FastDeploy#7774 a reviewer asked whether the hybrid kernel, which keeps the old
formula, should follow. It should not, because it reads another buffer with another writer. The
rule answers that once, with the lines of both writers.

## Example

```cuda
tail = hist + (step_idx[bid] - n);        // corrected: its writer counts the tokens
tail = pre_ids + (step_idx[bid] + 1 - n); // right as it is: its writer stores at the last position
```

## Known limits

The answer needs both writers to be solved. Ops that no test of the change and no common header ties
to the changed one are not spoken of.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Message, Severity
from checks.domain.indices.conventions import BoundConvention, Convention
from checks.rules.semantics import _report
from checks.rules.semantics._comparison import IndexComparison, compare_indices
from checks.rules.semantics._fixture_checks import FixtureCheck

ID = "semantics.unaffected-sibling"
_QUOTED_INCLUDE = re.compile(rb'^#include[^"\n]*"([^"\n]*)"[^"\n]*$', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class BufferUse:
    """A reader, and the writer of the buffer that it reads, which agree."""

    reader: BoundConvention
    writer: BoundConvention


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    indices = compare_indices(change, config)
    if indices is not None and indices.moved_ops:
        yield from _answers(indices)


def _answers(indices: IndexComparison) -> Iterator[Finding]:
    """One answer for each op that keeps the addressing another op gave up, and is right to."""
    checks: list[FixtureCheck] = []
    for path in sorted(indices.changed_tests):
        checks += indices.head_fixtures.of(path)
    answered: set[str] = set()
    for op in sorted(indices.moved_ops):
        for corrected, old in _corrected_uses(indices, op):
            siblings = _siblings(indices, op, checks) - indices.moved_ops - answered
            for sibling in sorted(siblings):
                kept = _kept_use(indices, sibling, corrected.reader, old)
                if kept is not None:
                    answered.add(sibling)
                    yield _finding(indices, corrected, kept, checks)


def _corrected_uses(indices: IndexComparison, op: str) -> Iterator[tuple[BufferUse, Convention]]:
    """The readers of `op` that the change moved to where their writer stores, and the old ones."""
    for reader in indices.head.meetings(op):
        if reader.convention.role != "read":
            continue
        old = indices.convention_before(reader.facts, reader.convention)
        if old is None or old.offset.const == reader.offset.const:
            continue
        writer = indices.head.writer(reader.facts, reader.convention)
        if writer is not None and writer.offset == reader.offset:
            yield BufferUse(reader, writer), old


def _siblings(indices: IndexComparison, op: str, checks: list[FixtureCheck]) -> set[str]:
    """Ops that a reader of the change would hold next to `op`.

    They are tested in the same changed files, or built on the same local header.
    """
    library = indices.head.library
    siblings = {check.op.name for check in checks}
    headers: set[str] = set()
    for facts in library.facts(op):
        headers |= _local_headers(indices, facts.path)
    for name, paths in library.ops.items():
        if any(headers & _local_headers(indices, path) for path in paths):
            siblings.add(name)
    return siblings


def _local_headers(indices: IndexComparison, path: str) -> set[str]:
    """Base names of the device headers (`.cuh`) that a file includes in quotes."""
    text = indices.head.library.files.get(path, b"")
    names = [name.decode() for name in _QUOTED_INCLUDE.findall(text)]
    return {name.rsplit("/", 1)[-1] for name in names if name.endswith(".cuh")}


def _kept_use(
    indices: IndexComparison, sibling: str, changed: BoundConvention, old: Convention
) -> BufferUse | None:
    """The sibling's reader with the old addressing of another buffer, and the agreeing writer."""
    for reader in indices.head.meetings(sibling):
        # A reader of the same buffer would have to follow.
        if reader.buffer == changed.buffer or reader.convention.role != "read":
            continue
        if reader.convention.offset.const != old.offset.const:
            continue
        writer = indices.head.writer(reader.facts, reader.convention)
        if writer is not None and writer.offset == reader.offset:
            return BufferUse(reader, writer)
    return None


def _agreeing_fixture(op: str, checks: list[FixtureCheck]) -> FixtureCheck | None:
    """The first fixture that fills what the op `op` reads."""
    for check in checks:
        if check.op.name != op or check.kind != "fixture" or check.guessed:
            continue
        if check.agrees:
            return check
    return None


def _finding(
    indices: IndexComparison, corrected: BufferUse, kept: BufferUse, checks: list[FixtureCheck]
) -> Finding:
    """The answer, at the sibling's fixture where there is one: there the question comes up."""
    library = indices.head.library
    place = _report.meeting_location(corrected.reader)
    symbol = corrected.reader.convention.access.function
    fixture = _agreeing_fixture(kept.reader.facts.name, checks)
    if fixture is not None:
        place = Location(fixture.path, fixture.line)
        symbol = fixture.function
    finding = Finding(
        rule=ID,
        severity=Severity.QUESTION,
        confidence=Confidence.HIGH,
        location=place,
        message=Message("answered", _args(corrected, kept, fixture)),
        symbol=symbol,
        subject=_report.excerpt(library, place),
        evidence=(
            _report.last_position(library, corrected.writer),
            _report.last_position(library, corrected.reader),
            _report.last_position(library, kept.writer),
            _report.last_position(library, kept.reader),
        ),
        related=_report.call_sites(corrected.reader, kept.reader),
    )
    return replace(finding, answered=True)


def _args(corrected: BufferUse, kept: BufferUse, fixture: FixtureCheck | None) -> dict[str, str]:
    reader, sibling = corrected.reader, kept.reader
    return {
        "op": reader.facts.name,
        "buffer": reader.buffer,
        "reads": _report.position(reader.convention.index, reader.offset),
        "author": corrected.writer.convention.access.function,
        "twin": sibling.facts.name,
        "twin_buffer": sibling.buffer,
        "twin_reads": _report.position(sibling.convention.index, sibling.offset),
        "writer": kept.writer.convention.access.function,
        "index": reader.convention.index,
        "fixture": fixture.function if fixture is not None else "",
    }
