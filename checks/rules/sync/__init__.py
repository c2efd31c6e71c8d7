"""Code that must move together: copies for several hardware, and two sides of one agreement.

The rules, by what the change did:

- it altered one of several copies: `model_runner` (Python), `op_drift` (C++ and CUDA),
  `stale_constant`, `renamed_attribute`, `method_replacement`;
- it altered a function or op, or a call of one: `signature`, `unchecked_none`, `return_arity`,
  `lost_comma`, `platform_only_import`, `op_registration`, `op_declaration`, `unregistered_op`;
- it needs a key or attribute that is not there: `missing_allocation`, `platform_only_key`,
  `kind_only_attribute`, `lost_writer`, `never_updated`;
- it altered a class and its users stayed: `removed_field`, `readonly_field`, `lost_dimension`,
  `missing_from_reset`.

Modules whose names begin with `_` are shared. `_source` and `_classes` are asked by most rules. A
copy is compared effect by effect: `_effects` and `_alterations` for Python, `_device_effects` and
`_device_alterations` for C++. `_line_priority` lets only one of the rules about calls speak of a
line.
"""
