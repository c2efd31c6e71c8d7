"""What a change means for stored logprob baselines.

Modules whose names begin with `_` find the statements on the way of a logprob.
"""

from __future__ import annotations

from checks.core.check import Check
from checks.rules.logprobs import (
    baseline_affected,
)

# In the order in which they are run and listed.
RULES: tuple[Check, ...] = (baseline_affected,)
