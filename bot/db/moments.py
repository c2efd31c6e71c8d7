"""The first moment at which a write may be sent, beside those that are sent or promised already."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

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


# Seconds, to be past a moment that is taken.
_STEP = 0.001


def first_free(now: float, limits: Sequence[Limit]) -> float:
    """The first moment from `now` on that all `limits` allow."""
    moment = now
    while True:
        latest = max(limit.next_after(moment) for limit in limits)
        if latest <= moment:
            return moment
        moment = latest
