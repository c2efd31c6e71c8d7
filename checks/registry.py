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
from checks.rules.sync import (
    kind_only_attribute,
    lost_comma,
    lost_dimension,
    lost_writer,
    method_replacement,
    missing_allocation,
    missing_from_reset,
    model_runner,
    never_updated,
    op_declaration,
    op_drift,
    op_registration,
    platform_only_import,
    platform_only_key,
    readonly_field,
    removed_field,
    renamed_attribute,
    return_arity,
    signature,
    stale_constant,
    unchecked_none,
    unregistered_op,
)

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
    unchecked_none,
    return_arity,
    method_replacement,
    platform_only_import,
    lost_comma,
    op_registration,
    op_declaration,
    stale_constant,
    unregistered_op,
    op_drift,
    missing_allocation,
    platform_only_key,
    readonly_field,
    removed_field,
    kind_only_attribute,
    lost_dimension,
    missing_from_reset,
    lost_writer,
    never_updated,
    renamed_attribute,
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
    """The rule with this id."""
    return next((r for r in RULES if name == r.ID), None)
