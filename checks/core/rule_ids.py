"""Ids of rules that were called otherwise before: what people wrote into files stays understood.

A rule that said several things was divided, so an old id may mean several rules. The fingerprint of
a finding is made with the old id, so that answers which people gave before stay with their finding.
"""

from __future__ import annotations

from collections.abc import Iterable

# The id of today -> the id before.
FORMER: dict[str, str] = {
    "kernel.decided-test": "kernel.dead-code",
    "kernel.dropped-lengths": "kernel.padded-rows",
    "kernel.dropped-status": "kernel.missing-error-check",
    "kernel.leaked-memory": "kernel.resource-scope",
    "kernel.mixed-rows": "kernel.padded-rows",
    "kernel.overwritten-attribute": "kernel.unused-parameter",
    "kernel.pointer-length": "kernel.pointer-type",
    "kernel.refused-null": "kernel.pointer-type",
    "kernel.same-branches": "kernel.dead-code",
    "kernel.scatter-capacity": "kernel.missing-bounds-check",
    "kernel.uncalled-function": "kernel.dead-code",
    "protocol.deleted-test": "protocol.untested-change",
    "protocol.duplicate-fixture": "protocol.stale-fixture",
    "protocol.op-arguments": "protocol.stale-fixture",
    "protocol.small-buffer": "protocol.layout-mismatch",
    "protocol.stale-constant": "protocol.layout-mismatch",
    "protocol.struct-copy": "protocol.layout-mismatch",
    "semantics.called-too-early": "semantics.step-idx",
    "semantics.diverged-copy": "semantics.step-idx",
    "semantics.outdated-test": "semantics.step-idx",
    "semantics.unaffected-sibling": "semantics.step-idx",
    "semantics.uncorrected-copy": "semantics.step-idx",
    "sync.doubled-argument": "sync.signature",
    "sync.kind-only-attribute": "sync.key",
    "sync.lost-comma": "sync.signature",
    "sync.lost-dimension": "sync.key",
    "sync.lost-writer": "sync.key",
    "sync.method-replacement": "sync.signature",
    "sync.misplaced-argument": "sync.signature",
    "sync.missing-allocation": "sync.key",
    "sync.missing-argument": "sync.signature",
    "sync.missing-from-reset": "sync.key",
    "sync.op-call": "sync.signature",
    "sync.op-declaration": "sync.op",
    "sync.op-drift": "sync.op",
    "sync.op-registration": "sync.op",
    "sync.platform-only-import": "sync.signature",
    "sync.platform-only-key": "sync.key",
    "sync.readonly-field": "sync.key",
    "sync.removed-field": "sync.key",
    "sync.renamed-attribute": "sync.key",
    "sync.return-arity": "sync.signature",
    "sync.stale-constant": "sync.op",
    "sync.surplus-argument": "sync.signature",
    "sync.unchecked-none": "sync.signature",
    "sync.unfit-override": "sync.signature",
    "sync.unknown-argument": "sync.signature",
    "sync.unregistered-op": "sync.op",
}

# Rules that became part of another one: the id of then -> the id of today.
MERGED: dict[str, str] = {
    "semantics.ignored-rank-flag": "semantics.rank-gate",
    "semantics.rank-argument": "semantics.rank-gate",
    "semantics.unadjusted-limit": "semantics.called-too-early",
}

# Rules that are gone: what they said was not worth reading, or was never true anywhere.
GONE: frozenset[str] = frozenset(
    {
        "kernel.element-type",
        "kernel.missing-barrier",
        "kernel.missing-mask",
        "kernel.unguarded-thread",
        "kernel.uninitialised-shared",
        "protocol.lost-sentinel",
        "protocol.swapped-fields",
        "protocol.whole-word-read",
        "protocol.width-comment",
        "semantics.dropped-value",
        "semantics.function-as-condition",
        "semantics.op-against-test",
        "semantics.shared-element",
        "semantics.unchanged-value",
        "semantics.wrong-fixture",
        "sync.misspelt-attribute",
        "sync.never-updated",
    }
)


def former_id(rule: str) -> str:
    """What `rule` was called before, or what it is called where it always was."""
    return FORMER.get(rule, rule)


def ids_meant(name: str, known: Iterable[str]) -> tuple[str, ...]:
    """The ids of `known` that `name` means: itself, every rule that was called so before, and the
    rule that it became part of.

    Empty where `name` is no rule's id and never was.
    """
    name = MERGED.get(name, name)
    return tuple(rule for rule in known if name in (rule, former_id(rule)))
