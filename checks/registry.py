"""Every rule, by hand: reading this list is knowing what a review looks at."""

from __future__ import annotations

from checks.check import Check
from checks.convention import checklist, cherry_pick, description, tests, title
from checks.protocol import pack_unpack_mismatch, stale_fixture, unmasked_pack
from checks.semantics import step_idx
from checks.sync import signature

RULES: tuple[Check, ...] = (
    unmasked_pack,
    pack_unpack_mismatch,
    stale_fixture,
    signature,
    step_idx,
    title,
    description,
    checklist,
    cherry_pick,
    tests,
)


def rule(name: str) -> Check | None:
    """The rule with this id."""
    return next((r for r in RULES if name == r.ID), None)
