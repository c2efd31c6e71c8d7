"""How far a share that was counted may be from the true one."""

from __future__ import annotations

from math import sqrt

# The normal distribution's quantile for an interval of 95 %.
_Z = 1.959964


def wilson_interval(hits: int, trials: int) -> tuple[float, float]:
    """The score interval (Wilson 1927) that holds the true share with 95 %; (0, 1) without trials.

    Unlike the normal approximation it is right for few hits, and for none.
    """
    if trials == 0:
        return 0.0, 1.0
    share = hits / trials
    weight = _Z * _Z / trials
    middle = share + weight / 2
    spread = _Z * sqrt(share * (1 - share) / trials + weight / (4 * trials))
    low = (middle - spread) / (1 + weight)
    high = (middle + spread) / (1 + weight)
    return max(low, 0.0), min(high, 1.0)
