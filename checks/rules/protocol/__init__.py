"""What two programs share: messages, packed words, layouts, and the tests that fix them."""

from __future__ import annotations

from checks.core.check import Check
from checks.rules.protocol import (
    deleted_test,
    duplicate_fixture,
    layout_mismatch,
    op_arguments,
    pack_unpack_mismatch,
    small_buffer,
    stale_constant,
    stale_fixture,
    struct_copy,
    unmasked_pack,
    untested_change,
)

# In the order in which they are run and listed.
RULES: tuple[Check, ...] = (
    unmasked_pack,
    pack_unpack_mismatch,
    layout_mismatch,
    small_buffer,
    struct_copy,
    stale_constant,
    stale_fixture,
    op_arguments,
    duplicate_fixture,
    untested_change,
    deleted_test,
)
