"""How a pull request is written up."""

from __future__ import annotations

from checks.core.check import Check
from checks.rules.convention import (
    checklist,
    cherry_pick,
    description,
    tests,
    title,
)

# In the order in which they are run and listed.
RULES: tuple[Check, ...] = (
    title,
    description,
    checklist,
    cherry_pick,
    tests,
)
