"""Rules about device code and the code around it: kernels, ops, and the tensors they get."""

from __future__ import annotations

from checks.core.check import Check
from checks.rules.kernel import (
    barrier,
    dead_code,
    decided_test,
    dropped_lengths,
    dropped_status,
    fixed_seed,
    host_sync,
    int32_offset,
    leaked_memory,
    missing_bounds_check,
    missing_error_check,
    mixed_rows,
    overwritten_attribute,
    padded_rows,
    pointer_length,
    pointer_type,
    refused_null,
    resource_scope,
    same_branches,
    scatter_capacity,
    uncalled_function,
    unused_parameter,
)

# In the order in which they are run and listed.
RULES: tuple[Check, ...] = (
    padded_rows,
    mixed_rows,
    dropped_lengths,
    missing_bounds_check,
    scatter_capacity,
    pointer_type,
    pointer_length,
    refused_null,
    int32_offset,
    barrier,
    resource_scope,
    leaked_memory,
    fixed_seed,
    host_sync,
    missing_error_check,
    dropped_status,
    unused_parameter,
    overwritten_attribute,
    dead_code,
    same_branches,
    decided_test,
    uncalled_function,
)
