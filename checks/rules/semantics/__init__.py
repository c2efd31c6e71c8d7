"""Rules about what code means: what an index counts, which rank is spoken to, which copies of an
idea agree, and what Python decides before any value is known."""

from __future__ import annotations

from checks.core.check import Check
from checks.rules.semantics import (
    blocking_call,
    borrowed_container,
    called_too_early,
    decided_by_type,
    diverged_copy,
    environment_text,
    import_time_name,
    outdated_test,
    rank_gate,
    repeated_value,
    step_idx,
    unaffected_sibling,
    unbound_local,
    uncorrected_copy,
    undefined_name,
    unfit_format,
    unformatted_text,
    unhashable_key,
)

# In the order in which they are run and listed.
RULES: tuple[Check, ...] = (
    step_idx,
    outdated_test,
    uncorrected_copy,
    diverged_copy,
    called_too_early,
    unaffected_sibling,
    rank_gate,
    undefined_name,
    import_time_name,
    decided_by_type,
    borrowed_container,
    environment_text,
    unfit_format,
    repeated_value,
    unhashable_key,
    unformatted_text,
    blocking_call,
    unbound_local,
)
