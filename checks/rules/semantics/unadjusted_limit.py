"""A limit is compared with the bare index after the reads gave up subtracting from it.

## What it does

Where an op runs before the index is advanced and the change removes `- accept_num` from the address
by which it reads, the author says that the index does not hold the round's tokens. A comparison of
the same index with a limit, in the same function, that took them for included before and is left as
it was, is asked about.

## Why it matters

PaddlePaddle/FastDeploy#6685 moved the advance of the index behind kernels that subtract the round's
tokens; #6825 and #7166 mended them. A limit that is left out of such a correction takes effect a
round too late.

## Example

```cuda
if (step_idx[bid] < min_tokens[bid]) return;      // should it be step_idx[bid] + accept_num[bid]?
if (hist[step_idx[bid] - 1] == 2) stop[bid] = true;   // was: step_idx[bid] - accept_num[bid] - 1
```

## Known limits

Only comparisons with one limit in the same function are looked at. The limit may have been wrong
before and right now, so this is a question.
"""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Message, Severity
from checks.domain.indices.conventions import SideIndex
from checks.domain.indices.op_index import OpFacts
from checks.eval.symbolic.values import BufferAccess
from checks.rules.semantics import _report
from checks.rules.semantics._comparison import IndexComparison, compare_indices
from checks.rules.semantics._op_order import (
    PrematureUse,
    order_evidence,
    premature_uses,
    subtracted_amounts,
)

ID = "semantics.unadjusted-limit"
AccessKey = tuple[str, str, str]


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    indices = compare_indices(change, config)
    if indices is not None:
        yield from _unadjusted_limits(indices)


def _unadjusted_limits(indices: IndexComparison) -> Iterator[Finding]:
    ops = indices.changed_ops

    def amounts_before(facts: OpFacts) -> set[str]:
        if facts.name not in ops:
            return set()
        old = indices.facts_before(facts)
        return subtracted_amounts(old) if old is not None else set()

    seen: set[tuple[str, int]] = set()
    for use in premature_uses(indices.head, (), ops, amounts_before):
        old = indices.facts_before(use.user.facts)
        if old is None:
            continue
        for access in _kept_comparisons(use, old):
            place = (access.path, access.line)
            if place not in seen:
                seen.add(place)
                yield _finding(indices.head, use, access)


def _kept_comparisons(use: PrematureUse, old: OpFacts) -> Iterator[BufferAccess]:
    """Unchanged comparisons of the bare index, where a read no longer subtracts the amount."""
    now = _by_place(use.user.facts, use.index_param)
    before = _by_place(old, use.index_param)
    corrected = _corrected_functions(use, now, before)
    for key, access in now.items():
        kind, _, function = key
        if kind != "compare" or function not in corrected:
            continue
        earlier = before.get(key)
        if earlier is None or earlier.lag or access.high is None:
            continue
        adds_amount = any(name == use.amount_param for name, _ in access.high.loads)
        if earlier.high == access.high and not adds_amount:
            yield access


def _by_place(facts: OpFacts, index: str) -> dict[AccessKey, BufferAccess]:
    """The accesses by `index`, by kind, buffer and function; of several, the last one."""
    return {(a.kind, a.buffer, a.function): a for a in facts.accesses if a.index == index}


def _corrected_functions(
    use: PrematureUse, now: dict[AccessKey, BufferAccess], before: dict[AccessKey, BufferAccess]
) -> set[str]:
    """Functions with a read that no longer takes the amount off the index."""
    functions: set[str] = set()
    for key, access in before.items():
        kind, _, function = key
        if kind != "read" or key not in now:
            continue
        if use.is_reduced(access) and not use.is_reduced(now[key]):
            functions.add(function)
    return functions


def _finding(product: SideIndex, use: PrematureUse, access: BufferAccess) -> Finding:
    place = Location(access.path, access.line)
    return Finding(
        rule=ID,
        severity=Severity.QUESTION,
        confidence=Confidence.MEDIUM,
        location=place,
        message=Message("half-moved", use.args(access)),
        symbol=access.function,
        subject=_report.excerpt(product.library, place),
        evidence=order_evidence(product, use, access),
    )
