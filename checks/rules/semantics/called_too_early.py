"""An op that runs before the index is advanced reads or compares as if it ran after.

## What it does

Follows the order of the calls in Python. Where an op reads by an index minus an amount (`step_idx -
accept_num`), and the op that advances the index by that amount is called behind it, the address is
too far back. Reported is what was in order before the change.

Where a change takes such a `- accept_num` out of the address by which an op reads, the author says
that the index does not hold the round's tokens. A comparison of the same index with a limit, in the
same function, that took them for included before and is left as it was, is asked about.

## Why it matters

PaddlePaddle/FastDeploy#6685 moved the advance of the index behind two kernels that subtract the
round's tokens; it took #6825 and #7166 to mend them, and the first left a limit as it was, which
took effect a round too late.

## Example

```python
trim_round(tokens, step_idx, accept_num)      # reads at step_idx - accept_num
commit_round(tokens, step_idx, accept_num)    # adds accept_num to step_idx
```

## Known limits

The order is that of the calls in one function; an op that is called from elsewhere in between is
not seen. The amount must reach both ops as the same buffer. Only comparisons with one limit are
looked at, and a limit may have been wrong before and right now, so that it is a question.
"""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Message, Severity
from checks.domain.indices.conventions import SideIndex
from checks.eval.symbolic.values import BufferAccess
from checks.rules.semantics import _report
from checks.rules.semantics._comparison import IndexComparison, compare_indices
from checks.rules.semantics._op_order import (
    PrematureUse,
    order_evidence,
    premature_uses,
    subtracted_amounts,
)
from checks.rules.semantics._unadjusted_limits import unadjusted_limits

ID = "semantics.called-too-early"


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    indices = compare_indices(change, config)
    if indices is not None:
        yield from _early_calls(indices)
        yield from unadjusted_limits(ID, indices)


def _early_calls(indices: IndexComparison) -> Iterator[Finding]:
    """One finding for each function of an op that is newly called too early."""
    seen: set[tuple[str, str, str, str]] = set()
    callers = indices.changed_calls.functions
    for use in premature_uses(indices.head, callers, indices.changed_ops, subtracted_amounts):
        facts = use.user.facts
        for access in sorted(_reduced_accesses(use), key=lambda a: (a.path, a.line)):
            key = (facts.name, facts.hardware, access.function, access.path)
            # One finding a function: its other accesses are wrong for the same reason.
            if key in seen:
                continue
            seen.add(key)
            if not _was_early(indices.base, use, access):
                yield _finding(indices.head, use, access)


def _reduced_accesses(use: PrematureUse) -> list[BufferAccess]:
    """Where the op reads or compares with the round's tokens taken off the index."""
    return [a for a in use.user.facts.accesses if a.kind != "write" and use.is_reduced(a)]


def _was_early(base: SideIndex, use: PrematureUse, access: BufferAccess) -> bool:
    """Whether the op was called too early before the change too.

    The function that calls it may have been renamed, so any function counts.
    """
    facts = use.user.facts
    for old in premature_uses(base, (), {facts.name}, subtracted_amounts):
        if old.user.facts.name != facts.name or old.user.facts.hardware != facts.hardware:
            continue
        if any(a.function == access.function for a in _reduced_accesses(old)):
            return True
    return False


def _finding(product: SideIndex, use: PrematureUse, access: BufferAccess) -> Finding:
    place = Location(access.path, access.line)
    return Finding(
        rule=ID,
        severity=Severity.BUG,
        confidence=Confidence.MEDIUM,
        location=place,
        message=Message("too-early", use.args(access)),
        symbol=access.function,
        subject=_report.excerpt(product.library, place),
        evidence=order_evidence(product, use, access),
    )
