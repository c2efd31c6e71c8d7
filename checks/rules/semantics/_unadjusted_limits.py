"""Limits that are compared with the bare index after the reads gave up subtracting from it."""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.finding import Confidence, Finding, Location, Message, Severity
from checks.domain.indices.conventions import SideIndex
from checks.domain.indices.op_index import OpFacts
from checks.eval.symbolic.values import BufferAccess
from checks.rules.semantics import _report
from checks.rules.semantics._comparison import IndexComparison
from checks.rules.semantics._op_order import (
    PrematureUse,
    order_evidence,
    premature_uses,
    subtracted_amounts,
)

AccessKey = tuple[str, str, str]


def unadjusted_limits(rule: str, indices: IndexComparison) -> Iterator[Finding]:
    """A question for each comparison that took the round's tokens for included and was left."""
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
                yield _finding(rule, indices.head, use, access)


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


def _finding(rule: str, product: SideIndex, use: PrematureUse, access: BufferAccess) -> Finding:
    place = Location(access.path, access.line)
    return Finding(
        rule=rule,
        severity=Severity.QUESTION,
        confidence=Confidence.MEDIUM,
        location=place,
        message=Message("half-moved", use.args(access)),
        symbol=access.function,
        subject=_report.excerpt(product.library, place),
        evidence=order_evidence(product, use, access),
    )
