"""Every rule, by hand: reading this list is knowing what a review looks at."""

from __future__ import annotations

from checks.core.check import Check
from checks.rules.convention import checklist, cherry_pick, description, tests, title
from checks.rules.kernel import (
    barrier,
    dead_code,
    fixed_seed,
    host_sync,
    int32_offset,
    missing_bounds_check,
    missing_error_check,
    padded_rows,
    pointer_type,
    resource_scope,
    uninitialised_shared,
    unused_parameter,
)
from checks.rules.logprobs import baseline_affected
from checks.rules.protocol import (
    layout_mismatch,
    pack_unpack_mismatch,
    stale_fixture,
    unmasked_pack,
    untested_change,
)
from checks.rules.semantics import rank_gate, step_idx
from checks.rules.sync import key, model_runner, op, signature

RULES: tuple[Check, ...] = (
    unmasked_pack,
    pack_unpack_mismatch,
    layout_mismatch,
    stale_fixture,
    untested_change,
    baseline_affected,
    step_idx,
    rank_gate,
    signature,
    op,
    key,
    model_runner,
    padded_rows,
    missing_bounds_check,
    pointer_type,
    int32_offset,
    uninitialised_shared,
    barrier,
    resource_scope,
    fixed_seed,
    host_sync,
    missing_error_check,
    unused_parameter,
    dead_code,
    title,
    description,
    checklist,
    cherry_pick,
    tests,
)


def rule(name: str) -> Check | None:
    """The rule with this id, None where there is none."""
    return next((check for check in RULES if name == check.ID), None)
