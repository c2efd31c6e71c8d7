"""A change corrects a reader on one hardware and leaves its copy on another wrong.

## What it does

For each reader that the change brings in line with the writer of its buffer, looks for the op on
other hardware: under the same name, under a name that differs by the hardware's word
(`suffix_lookup_xpu`), or alone in a file named alike. The copy is held against the writer of its
own hardware. If it keeps the old address and its writer disagrees, it is named; the finding says
that it was so before the change.

## Why it matters

An off-by-one that is found on one device is often on the others too, because the kernels were
copied. The user of the other device sees a wrong result that the project has already explained.

## Example

```cpp
// on xpu; the change writes `step_idx[bid] - n` on gpu
const int64_t* tail = hist + (step_idx[bid] + 1 - n);
```

## Known limits

Copies are found by name. A copy whose own writer cannot be solved is left out.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Message, Severity, Sibling
from checks.domain.indices.conventions import BoundConvention, Convention
from checks.domain.indices.op_index import OpIndex
from checks.rules.semantics import _report, outdated_test, step_idx
from checks.rules.semantics._comparison import IndexComparison, compare_indices
from checks.rules.semantics._opposed_readers import has_own_writer

ID = "semantics.uncorrected-copy"


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    indices = compare_indices(change, config)
    if indices is None or not indices.moved_ops:
        return
    yield from _report.without_repeats(
        find_uncorrected_copies(indices),
        step_idx.run(change, config),
        outdated_test.run(change, config),
    )


def find_uncorrected_copies(indices: IndexComparison) -> Iterator[Finding]:
    """Readers that keep the address which the change corrected in a copy, and are wrong too."""
    reported: set[Convention] = set()
    for op in sorted(indices.moved_ops):
        for corrected, old in _corrected_readers(indices, op):
            for kept in _copies_with(old, op, corrected, indices):
                writer = indices.head.writer(kept.facts, kept.convention)
                if writer is None or writer.offset.const == kept.offset.const:
                    continue
                if kept.convention not in reported:
                    reported.add(kept.convention)
                    yield _finding(indices, corrected, kept, writer)


def _corrected_readers(
    indices: IndexComparison, op: str
) -> Iterator[tuple[BoundConvention, Convention]]:
    """Readers that the change brought in line with their writer, and what they were before."""
    for meeting in indices.head.meetings(op):
        if meeting.convention.role != "read":
            continue
        old = indices.convention_before(meeting.facts, meeting.convention)
        if old is None or old.offset.const == meeting.offset.const:
            continue
        writer = indices.head.writer(meeting.facts, meeting.convention)
        if writer is not None and writer.offset == meeting.offset:
            yield meeting, old


def _copies_with(
    old: Convention, op: str, corrected: BoundConvention, indices: IndexComparison
) -> Iterator[BoundConvention]:
    """Readers in copies of `op` on other hardware that have the address `corrected` gave up."""
    for name in _copies_of(op, indices.head.library, indices.config):
        for meeting in indices.head.meetings(name):
            if meeting.convention.role != "read":
                continue
            if meeting.facts.hardware == corrected.facts.hardware:
                continue
            if meeting.offset.const == old.offset.const:
                yield meeting


def _copies_of(op: str, library: OpIndex, config: Config) -> list[str]:
    """`op` and its copies: named alike but for the hardware, or alone in a file named alike."""
    hardware = {kind.name for kind in config.hardware}
    stems = _stems(op, library, hardware)
    plain = _without_hardware(op, hardware)
    copies: list[str] = []
    for name in library.ops:
        if _without_hardware(name, hardware) == plain or stems & _stems(name, library, hardware):
            copies.append(name)
    return sorted(copies)


def _stems(op: str, library: OpIndex, hardware: set[str]) -> set[tuple[str, ...]]:
    """The names, without words for hardware, of the files in which `op` is the only op."""
    stems: set[tuple[str, ...]] = set()
    for path in library.ops.get(op, ()):
        if _is_only_op(library, path):
            stem = posixpath.basename(path).partition(".")[0]
            stems.add(_without_hardware(stem, hardware))
    return stems


def _without_hardware(name: str, hardware: set[str]) -> tuple[str, ...]:
    return tuple(word for word in name.lower().split("_") if word not in hardware)


def _is_only_op(library: OpIndex, path: str) -> bool:
    return sum(path in paths for paths in library.ops.values()) == 1


def _finding(
    indices: IndexComparison,
    corrected: BoundConvention,
    kept: BoundConvention,
    writer: BoundConvention,
) -> Finding:
    library = indices.head.library
    # A reader that goes beyond its writer is wrong whatever it was meant to do.
    beyond = kept.offset.const > writer.offset.const
    proved = beyond and not has_own_writer(indices, kept, writer)
    function = kept.convention.access.function
    args = {
        "function": function,
        "op": kept.facts.name,
        "hardware": kept.facts.hardware,
        "buffer": kept.buffer,
        "reads": _report.position(kept.convention.index, kept.offset),
        "writes": _report.position(writer.convention.index, writer.offset),
        "writer": writer.convention.access.function,
        "changed": corrected.facts.name,
        "changed_hardware": corrected.facts.hardware,
        "now": _report.position(corrected.convention.index, corrected.offset),
        "beyond": beyond,
    }
    correction = Sibling(
        _report.meeting_location(corrected),
        corrected.convention.access.function,
        corrected.facts.hardware,
        Message("corrected", args),
        _report.excerpt(library, _report.meeting_location(corrected)),
    )
    place = _report.meeting_location(kept)
    finding = Finding(
        rule=ID,
        severity=Severity.BUG if proved else Severity.QUESTION,
        confidence=Confidence.HIGH if proved else Confidence.MEDIUM,
        location=place,
        message=Message("left-behind", args),
        symbol=function,
        subject=_report.excerpt(library, place),
        evidence=(
            _report.last_position(library, writer),
            _report.last_position(library, kept),
            correction,
        ),
        related=_report.call_sites(kept, writer),
    )
    if not proved:
        return finding
    gap = writer.offset.const - kept.offset.const
    return finding.with_fix(_report.shift_fix(library, finding.location, gap))
