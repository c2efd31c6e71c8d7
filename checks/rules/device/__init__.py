"""Rules about what device code did when it ran on a CPU: they read `change.observations`."""

from __future__ import annotations

from checks.core.check import Check
from checks.rules.device import (
    barrier,
    changed_result,
    race,
    reference,
    sanitizer,
    sibling,
    test_fails,
    untested_line,
)

# In the order in which they are run and listed.
RULES: tuple[Check, ...] = (
    test_fails,
    sanitizer,
    race,
    barrier,
    reference,
    sibling,
    changed_result,
    untested_line,
)
