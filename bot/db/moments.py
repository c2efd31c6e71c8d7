"""The first moment at which a write may be sent, beside those that are sent or promised already."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from bot.github.rate_limit import HOUR


@dataclass(frozen=True)
class Limit:
    """At most `most` writes in any `window` seconds, `gap` seconds apart; `times`, in order, are
    those that are sent or promised."""

    times: Sequence[float]
    most: int
    gap: float = 0.0
    window: float = HOUR

    def next_after(self, moment: float) -> float:
        """`moment` where it is allowed, else a later one before which none is."""
        near = bisect_right(self.times, moment - self.gap)
        if near < len(self.times) and self.times[near] < moment + self.gap:
            return self.times[near] + self.gap
        # The window that ends then, and the one that begins: others are promised moments in it.
        before = bisect_right(self.times, moment - self.window)
        until = bisect_right(self.times, moment)
        if until - before >= self.most:
            return self.times[until - self.most] + self.window
        begin = bisect_left(self.times, moment)
        after = bisect_left(self.times, moment + self.window)
        if after - begin >= self.most:
            return self.times[begin] + _STEP
        return moment


@dataclass(frozen=True)
class Bucket:
    """A token bucket: at most `most` writes in a row, after which one more is allowed each `every`
    seconds. It is full again after as long a time without any.

    A sliding window would let the same `most` follow each other as soon as the window has passed,
    again and again, and whoever else writes then waits for all of them.
    """

    times: Sequence[float]
    most: int
    every: float

    def next_after(self, moment: float) -> float:
        """`moment` where it is allowed, else a later one before which none is."""
        full_at = float("-inf")
        for taken in self.times[: bisect_right(self.times, moment)]:
            full_at = max(full_at, taken) + self.every
        return max(moment, full_at - (self.most - 1) * self.every)


class _Rule(Protocol):
    def next_after(self, moment: float) -> float: ...


# Seconds, to be past a moment that is taken.
_STEP = 0.001


def first_free(now: float, limits: Sequence[_Rule]) -> float:
    """The first moment from `now` on that all `limits` allow."""
    moment = now
    while True:
        latest = max(limit.next_after(moment) for limit in limits)
        if latest <= moment:
            return moment
        moment = latest
