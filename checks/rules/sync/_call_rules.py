"""The rules that say that a call's arguments do not fit; where one speaks, others keep quiet."""

from __future__ import annotations

from checks.core.check import Check
from checks.rules.sync import (
    doubled_argument,
    missing_argument,
    op_call,
    surplus_argument,
    unknown_argument,
)

ARGUMENT_RULES: tuple[Check, ...] = (
    missing_argument,
    unknown_argument,
    surplus_argument,
    doubled_argument,
    op_call,
)
