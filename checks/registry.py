"""Every rule, family by family: reading these lists is knowing what a review looks at."""

from __future__ import annotations

from checks.core.check import Check
from checks.rules import convention, device, kernel, logprobs, protocol, semantics, sync

RULES: tuple[Check, ...] = (
    *protocol.RULES,
    *logprobs.RULES,
    *semantics.RULES,
    *sync.RULES,
    *kernel.RULES,
    *device.RULES,
    *convention.RULES,
)


def rule(name: str) -> Check | None:
    """The rule with this id, None where there is none."""
    return next((check for check in RULES if name == check.ID), None)
