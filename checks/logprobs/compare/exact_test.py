"""Fisher's exact test: whether one share is larger than another by more than chance."""

from __future__ import annotations

from math import exp, inf, lgamma

_RARE = 1e-4
"""Probability below which more wrong requests than in the A/A run are no chance."""
_NEGLIGIBLE = 1e-12


def more_than(known: int, of: int, found: int, size: int) -> bool:
    """Whether `found` of `size` are more than `known` of `of` by more than chance.

    Fisher's exact test, one-sided: if both shares were the same, `found` or more would come with a
    probability below 1e-4.
    """
    if not found or found * of <= known * size:
        return False
    marked, total = known + found, of + size
    log_all = _log_binomial(total, size)
    probability = 0.0
    for hits in range(found, min(marked, size) + 1):
        log_ways = _log_binomial(marked, hits) + _log_binomial(total - marked, size - hits)
        term = exp(log_ways - log_all)
        probability += term
        # Each term is smaller than the one before.
        if probability >= _RARE or term < _NEGLIGIBLE * probability:
            break
    return probability < _RARE


def _log_binomial(n: int, k: int) -> float:
    """Logarithm of the binomial coefficient; minus infinity where there is no way to choose."""
    if not 0 <= k <= n:
        return -inf
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)
