"""A change moves the addressing in one copy of an op, and the other copies stay as they were.

## What it does

Compares the copies of one op: on other hardware, on the CPU, or in another function of the same op.
Where the change moves the last position that one of them reads or writes, those that had the same
position before and keep it are asked about.

## Why it matters

The copies of an op share their callers, and mostly their tests. PaddlePaddle/FastDeploy#7370 stored
the k-th token at another position; copies that stay behind are noticed on the device that nobody
runs in CI.

## Example

```cpp
// on xpu; the gpu kernel now writes at step_idx - 1
pre_ids[bid * max_len + step_idx[bid]] = next[bid];
step_idx[bid] += 1;
```

## Known limits

Only copies registered under the same op name are compared. The callers of the hardware may differ,
so that this is a question, except for two writers of one hardware. A line that another rule about
indices speaks about is left to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Message, Severity, Sibling
from checks.domain.indices.conventions import Convention, conventions_of_op
from checks.domain.indices.op_index import OpFacts
from checks.rules.semantics import _report, outdated_test, step_idx, uncorrected_copy
from checks.rules.semantics._comparison import IndexComparison, compare_indices

ID = "semantics.diverged-copy"


@dataclass(frozen=True, slots=True)
class OpCopy:
    """One implementation of an op, and how it addresses one buffer."""

    facts: OpFacts
    convention: Convention


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    indices = compare_indices(change, config)
    if indices is None or not indices.moved_ops:
        return
    yield from _report.without_repeats(
        find_diverged_copies(indices),
        step_idx.run(change, config),
        outdated_test.run(change, config),
        uncorrected_copy.run(change, config),
    )


def find_diverged_copies(indices: IndexComparison) -> Iterator[Finding]:
    """Copies of a changed op that agreed with it before the change and do not now."""
    for op in sorted(indices.moved_ops):
        copies: list[OpCopy] = []
        for facts in indices.head.library.facts(op):
            copies += [OpCopy(facts, convention) for convention in conventions_of_op(facts)]
        reported: set[tuple[str, str]] = set()
        for moved in copies:
            for kept in _copies_left_behind(indices, moved, copies):
                place = (kept.convention.access.path, kept.convention.access.function)
                if place not in reported:
                    reported.add(place)
                    yield _finding(indices, moved, kept)


def _copies_left_behind(
    indices: IndexComparison, moved: OpCopy, copies: list[OpCopy]
) -> Iterator[OpCopy]:
    """The copies that had the address of `moved` before the change and still have it."""
    old = indices.convention_before(moved.facts, moved.convention)
    if old is None or old.offset == moved.convention.offset:
        return
    if old.offset.const == moved.convention.offset.const:
        return
    for copy in copies:
        if copy.convention.role != moved.convention.role:
            continue
        if copy.convention.same_place == moved.convention.same_place:
            continue
        before = indices.convention_before(copy.facts, copy.convention)
        if before is None or before.offset != copy.convention.offset:
            continue
        if copy.convention.offset.const == old.offset.const:
            yield copy


def _finding(indices: IndexComparison, moved: OpCopy, kept: OpCopy) -> Finding:
    library = indices.head.library
    old, new = kept.convention, moved.convention
    same_hardware = kept.facts.hardware == moved.facts.hardware
    args = {
        "op": moved.facts.name,
        "function": old.access.function,
        "changed": new.access.function,
        "role": new.role,
        "now": _report.position(new.index, new.offset),
        "kept": _report.position(old.index, old.offset),
        "hardware": "" if same_hardware else kept.facts.hardware,
        "changed_hardware": "" if same_hardware else moved.facts.hardware,
    }
    moved_place = _report.access_location(new.access)
    evidence = Sibling(
        moved_place,
        new.access.function,
        moved.facts.hardware,
        Message("copy-now", args),
        _report.excerpt(library, moved_place),
    )
    # Two writers of one hardware share their readers, so that one of them is wrong.
    certain = same_hardware and old.role == "write"
    place = _report.access_location(old.access)
    return Finding(
        rule=ID,
        severity=Severity.BUG if certain else Severity.QUESTION,
        confidence=Confidence.MEDIUM,
        location=place,
        message=Message("copy", args),
        symbol=old.access.function,
        subject=_report.excerpt(library, place),
        evidence=(evidence,),
    )
