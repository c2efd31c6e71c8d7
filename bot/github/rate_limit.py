"""How quickly we may write: GitHub wants writes one after another, a second apart, and counts them
by the hour."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

HOUR = 3600.0


class RateLimiter:
    """The writes of one installation from this process: `gap` seconds apart, at most `hourly` in an
    hour.

    GitHub's own limit is 500 an hour; 400 leaves room for what else the App's account does.
    """

    # Seconds: a request that would wait longer is given up as `RateLimited`.
    patience = 120.0

    def __init__(
        self,
        gap: float = 1.0,
        hourly: int = 400,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._gap = gap
        self._hourly = hourly
        self._clock = clock
        self._sleep = sleep
        self._lock = threading.Lock()
        self._written: deque[float] = deque(maxlen=hourly)
        self._paused_until = 0.0

    def pause(self, seconds: float) -> None:
        """GitHub wants no request for so long."""
        self._paused_until = max(self._paused_until, self._clock() + seconds)

    @property
    def paused(self) -> float:
        """Seconds that are left of the longest such pause; not above 0 when it is over."""
        return self._paused_until - self._clock()

    def wait(self) -> None:
        """Return when the next write may be sent. Callers are let through one at a time."""
        with self._lock:
            now = due = self._clock()
            if self._written:
                due = max(due, self._written[-1] + self._gap)
            if len(self._written) == self._hourly:
                due = max(due, self._written[0] + HOUR)
            if due > now:
                self._sleep(due - now)
            self._written.append(max(due, self._clock()))
