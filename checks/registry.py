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
from checks.rules.semantics import (
    called_too_early,
    diverged_copy,
    ignored_rank_flag,
    op_against_test,
    outdated_test,
    rank_argument,
    rank_gate,
    step_idx,
    unadjusted_limit,
    unaffected_sibling,
    uncorrected_copy,
    wrong_fixture,
)
from checks.rules.sync import key, model_runner, op, signature

RULES: tuple[Check, ...] = (
    unmasked_pack,
    pack_unpack_mismatch,
    layout_mismatch,
    stale_fixture,
    untested_change,
    baseline_affected,
    step_idx,
    wrong_fixture,
    op_against_test,
    outdated_test,
    uncorrected_copy,
    diverged_copy,
    called_too_early,
    unadjusted_limit,
    unaffected_sibling,
    rank_gate,
    ignored_rank_flag,
    rank_argument,
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
    """The rule with this id."""
    return next((r for r in RULES if name == r.ID), None)
