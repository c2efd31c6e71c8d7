"""Ids of rules that were called otherwise before: what people wrote into files stays understood.

A rule that said several things was divided, so an old id may mean several rules. The fingerprint of
a finding is made with the old id, so that answers which people gave before stay with their finding.
"""

from __future__ import annotations

from collections.abc import Iterable

# The id of today -> the id before.
FORMER: dict[str, str] = {
    "semantics.wrong-fixture": "semantics.step-idx",
    "semantics.op-against-test": "semantics.step-idx",
    "semantics.outdated-test": "semantics.step-idx",
    "semantics.uncorrected-copy": "semantics.step-idx",
    "semantics.diverged-copy": "semantics.step-idx",
    "semantics.called-too-early": "semantics.step-idx",
    "semantics.unadjusted-limit": "semantics.step-idx",
    "semantics.unaffected-sibling": "semantics.step-idx",
    "semantics.ignored-rank-flag": "semantics.rank-gate",
    "semantics.rank-argument": "semantics.rank-gate",
    "kernel.mixed-rows": "kernel.padded-rows",
    "kernel.dropped-lengths": "kernel.padded-rows",
    "kernel.unguarded-thread": "kernel.missing-bounds-check",
    "kernel.missing-mask": "kernel.missing-bounds-check",
    "kernel.scatter-capacity": "kernel.missing-bounds-check",
    "kernel.pointer-length": "kernel.pointer-type",
    "kernel.refused-null": "kernel.pointer-type",
    "kernel.element-type": "kernel.pointer-type",
    "kernel.missing-barrier": "kernel.barrier",
    "kernel.leaked-memory": "kernel.resource-scope",
    "kernel.dropped-status": "kernel.missing-error-check",
    "kernel.overwritten-attribute": "kernel.unused-parameter",
    "kernel.same-branches": "kernel.dead-code",
    "kernel.decided-test": "kernel.dead-code",
    "kernel.uncalled-function": "kernel.dead-code",
}


def former_id(rule: str) -> str:
    """What `rule` was called before, or what it is called where it always was."""
    return FORMER.get(rule, rule)


def ids_meant(name: str, known: Iterable[str]) -> tuple[str, ...]:
    """The ids of `known` that `name` means: itself, and every rule that was called so before.

    Empty where `name` is no rule's id and never was.
    """
    return tuple(rule for rule in known if name in (rule, former_id(rule)))
