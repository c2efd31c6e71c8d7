"""Ratios and their intervals: no alarm for the same code, an alarm for what is slower, silence
between."""

from __future__ import annotations

import numpy as np
import pytest

from checks.kernelrun.model import Times
from checks.kernelrun.speed import Speedup, interval, ratio


def noisy(random, scale=1.0, processes=2, samples=30, drift=0.01):
    """Times around 10 us: 2% within a process, and a drift between processes."""
    made = []
    for _ in range(processes):
        level = 1e-5 * scale * (1 + drift * random.standard_normal())
        made.append(tuple(level * (1 + 0.02 * np.abs(random.standard_normal(samples)))))
    return Times("graph", tuple(made))


def test_the_same_code_raises_no_alarm():
    random = np.random.default_rng(1)
    paces = [ratio(noisy(random), noisy(random)).pace for _ in range(150)]
    assert not {Speedup.SLOWER, Speedup.FASTER} & set(paces)


@pytest.mark.parametrize(("scale", "pace"), [(1.25, Speedup.SLOWER), (0.75, Speedup.FASTER)])
def test_a_quarter_is_found(scale, pace):
    random = np.random.default_rng(2)
    found = [ratio(noisy(random), noisy(random, scale)).pace for _ in range(50)]
    assert found.count(pace) >= 49


def test_the_interval_holds_the_ratio_and_narrows():
    random = np.random.default_rng(3)
    base, head = noisy(random), noisy(random, 1.1)
    found = ratio(base, head)
    assert found.low <= found.value <= found.high
    few, many = (noisy(random, samples=n, processes=1).processes[0] for n in (8, 400))
    wide, narrow = interval(few, few), interval(many, many)
    assert narrow[1] - narrow[0] < wide[1] - wide[0]
    assert interval(few, many) == interval(few, many)


def test_what_one_pair_alone_shows_is_not_shown():
    steady = (1e-5,) * 10
    found = ratio(
        Times("graph", (steady, steady)), Times("graph", (steady, tuple(1.5 * s for s in steady)))
    )
    assert (found.low, found.high) == pytest.approx((1.0, 1.5))
    assert found.pace is Speedup.OPEN


def test_inside_the_margin_is_the_same():
    steady = (1e-5,) * 10
    assert (
        ratio(Times("graph", (steady,)), Times("graph", (tuple(1.08 * s for s in steady),))).pace
        is Speedup.SAME
    )


def test_times_that_are_not_compared():
    steady = ((1e-5,) * 10,)
    assert ratio(Times("interpreter", steady), Times("interpreter", steady)) is None
    assert ratio(Times("graph", steady), Times("eager", steady)) is None
    assert ratio(Times("graph", steady), None) is None
    assert ratio(Times("graph", ((1e-5,) * 3,)), Times("graph", steady)) is None


def test_median_and_quartiles():
    times = Times("graph", ((1.0, 2.0), (3.0, 4.0, 5.0)))
    assert (times.median, times.iqr) == (3.0, 2.0)
