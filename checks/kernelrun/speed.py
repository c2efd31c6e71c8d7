"""Is one side slower? The ratio of medians with a bootstrap interval, and a verdict that keeps its distance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from checks.kernelrun.model import Times

MARGIN = 0.10
"""A change of less than this, either way, gets no word: kernels of a few microseconds differed by up to 8% between
processes of the same code on an H200."""
RESAMPLES = 2000
CONFIDENCE = 0.99
FEWEST = 5
MEASURES = ("graph", "eager")


class Speedup(StrEnum):
    """What the interval says."""

    SLOWER = "slower"
    FASTER = "faster"
    SAME = "same"  # the interval lies within the margin
    OPEN = "open"  # it lies on both sides of the margin


@dataclass(frozen=True, slots=True)
class Ratio:
    """Head's median time over base's, and the interval that holds it."""

    value: float
    low: float
    high: float

    @property
    def pace(self) -> Speedup:
        """The verdict: only an interval wholly beyond 1 and the margin is a change."""
        if self.low > 1 + MARGIN:
            return Speedup.SLOWER
        if self.high < 1 - MARGIN:
            return Speedup.FASTER
        return Speedup.SAME if self.low >= 1 - MARGIN and self.high <= 1 + MARGIN else Speedup.OPEN


def ratio(base: Times | None, head: Times | None) -> Ratio | None:
    """Head over base, or None where times are missing, were taken differently, or mean nothing (the interpreter).

    Each process of head is held against one of base, in order. The interval covers those of all the pairs, because
    processes of the very same code differ by more than the samples within one: what one pair alone shows is not shown.
    """
    if base is None or head is None or base.how != head.how or base.how not in MEASURES:
        return None
    pairs = list(zip(base.processes, head.processes, strict=False))
    if any(len(samples) < FEWEST for pair in pairs for samples in pair):
        return None
    spans = [interval(b, h) for b, h in pairs]
    value = float(np.exp(np.mean([np.log(np.median(h) / np.median(b)) for b, h in pairs])))
    return Ratio(value, min(low for low, _ in spans), max(high for _, high in spans))


def interval(base: Sequence[float], head: Sequence[float]) -> tuple[float, float]:
    """The bootstrap interval (percentiles, 99%) of median(head) / median(base); the same for the same samples."""
    random = np.random.default_rng(0)
    ratios = _medians(head, random) / _medians(base, random)
    outside = 50 * (1 - CONFIDENCE)
    low, high = np.percentile(ratios, (outside, 100 - outside))
    return float(low), float(high)


def _medians(samples: Sequence[float], random: np.random.Generator) -> NDArray[np.float64]:
    values = np.asarray(samples, dtype=np.float64)
    chosen = random.integers(0, len(values), (RESAMPLES, len(values)))
    return np.asarray(np.median(values[chosen], axis=1), dtype=np.float64)
