"""Ids of rules that were called otherwise before: what people wrote into files stays understood.

A rule that said several things was divided, so an old id may mean several rules. The fingerprint of
a finding is made with the old id, so that answers which people gave before stay with their finding.
"""

from __future__ import annotations

from collections.abc import Iterable

# The id of today -> the id before.
FORMER: dict[str, str] = {
    "sync.kind-only-attribute": "sync.key",
    "sync.lost-comma": "sync.signature",
    "sync.lost-dimension": "sync.key",
    "sync.lost-writer": "sync.key",
    "sync.method-replacement": "sync.signature",
    "sync.missing-allocation": "sync.key",
    "sync.missing-from-reset": "sync.key",
    "sync.never-updated": "sync.key",
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
    "sync.unchecked-none": "sync.signature",
    "sync.unregistered-op": "sync.op",
}


def former_id(rule: str) -> str:
    """What `rule` was called before, or what it is called where it always was."""
    return FORMER.get(rule, rule)


def ids_meant(name: str, known: Iterable[str]) -> tuple[str, ...]:
    """The ids of `known` that `name` means: itself, and every rule that was called so before.

    Empty where `name` is no rule's id and never was.
    """
    return tuple(rule for rule in known if name in (rule, former_id(rule)))
