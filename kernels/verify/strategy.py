"""The names of the strategies; the first three numbers are FastDeploy's."""

from __future__ import annotations

from enum import IntEnum


class Strategy(IntEnum):
    """How ``verify`` judges drafts. All but TOPP leave the target's distribution as it is."""

    TOPP = 0
    GREEDY = 1
    TARGET_MATCH = 2
    REJECTION = 3
    BLOCK = 4
