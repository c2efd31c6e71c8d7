"""Ids of rules that were called otherwise before: what people wrote into files stays understood.

A rule that said several things was divided, so an old id may mean several rules. The fingerprint of
a finding is made with the old id, so that answers which people gave before stay with their finding.
"""

from __future__ import annotations

from collections.abc import Iterable

# The id of today -> the id before.
FORMER: dict[str, str] = {
    "protocol.small-buffer": "protocol.layout-mismatch",
    "protocol.struct-copy": "protocol.layout-mismatch",
    "protocol.stale-constant": "protocol.layout-mismatch",
    "protocol.lost-sentinel": "protocol.layout-mismatch",
    "protocol.op-arguments": "protocol.stale-fixture",
    "protocol.duplicate-fixture": "protocol.stale-fixture",
    "protocol.deleted-test": "protocol.untested-change",
    "protocol.whole-word-read": "protocol.pack-unpack-mismatch",
    "protocol.width-comment": "protocol.pack-unpack-mismatch",
}


def former_id(rule: str) -> str:
    """What `rule` was called before, or what it is called where it always was."""
    return FORMER.get(rule, rule)


def ids_meant(name: str, known: Iterable[str]) -> tuple[str, ...]:
    """The ids of `known` that `name` means: itself, and every rule that was called so before.

    Empty where `name` is no rule's id and never was.
    """
    return tuple(rule for rule in known if name in (rule, former_id(rule)))
