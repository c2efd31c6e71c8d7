"""Code that must move together: copies for several hardware, and two sides of one agreement.

The rules, by what the change did:

- it altered one of several copies: `model_runner` (Python), `op_drift` (C++ and CUDA),
  `stale_constant`, `renamed_attribute`, `method_replacement`;
- it altered a function or op, or a call of one: `missing_argument`, `unknown_argument`,
  `surplus_argument`, `doubled_argument`, `misplaced_argument`, `unfit_override`, `op_call`,
  `unchecked_none`, `return_arity`, `lost_comma`, `platform_only_import`, `op_registration`,
  `op_declaration`, `unregistered_op`, `unknown_import`;
- it needs a key or attribute that is not there: `missing_allocation`, `platform_only_key`,
  `kind_only_attribute`, `lost_writer`, `unset_attribute`, `skipped_init`;
- it altered a class and its users stayed: `removed_field`, `readonly_field`, `lost_dimension`,
  `missing_from_reset`.

Modules whose names begin with `_` are shared. `_source` and `_classes` are asked by most rules. A
copy is compared effect by effect: `_effects` and `_alterations` for Python, `_device_effects` and
`_device_alterations` for C++. `_line_priority` lets only one of the rules about calls speak of a
line.
"""

from __future__ import annotations

from checks.core.check import Check
from checks.rules.sync import (
    cpp_call,
    deleted_module,
    doubled_argument,
    kind_only_attribute,
    lacking_attribute,
    lost_comma,
    lost_dimension,
    lost_writer,
    method_replacement,
    misplaced_argument,
    missing_allocation,
    missing_argument,
    missing_from_reset,
    missing_member,
    model_runner,
    op_call,
    op_declaration,
    op_drift,
    op_registration,
    platform_only_import,
    platform_only_key,
    readonly_field,
    removed_field,
    renamed_attribute,
    return_arity,
    skipped_init,
    stale_constant,
    surplus_argument,
    unchecked_none,
    unfit_fake,
    unfit_override,
    unknown_argument,
    unknown_import,
    unregistered_op,
    unset_attribute,
)

# In the order in which they are run and listed.
RULES: tuple[Check, ...] = (
    missing_argument,
    unknown_argument,
    surplus_argument,
    doubled_argument,
    misplaced_argument,
    unfit_override,
    op_call,
    unchecked_none,
    return_arity,
    method_replacement,
    platform_only_import,
    lost_comma,
    unknown_import,
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
    renamed_attribute,
    unset_attribute,
    skipped_init,
    model_runner,
    missing_member,
    lacking_attribute,
    deleted_module,
    unfit_fake,
    cpp_call,
)
