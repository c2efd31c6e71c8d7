"""A workflow that can only go on later leaves its place on the worker, and comes back.

A queue has few places on a worker. A workflow that waited in one, an hour where GitHub's limits are
reached, would keep it from workflows that have nothing to wait for, also those of other
installations. The workflow stays the worker's all the while: nothing later of the same pull request
overtakes it, and where the worker dies, it is taken up at once like all that was running.
"""

from __future__ import annotations

import threading
import time
from typing import NoReturn

import sqlalchemy as sa

from bot.db.claims import Claim, put_back

_SHORTEST_WAIT = 0.5


class RetryLater(Exception):
    """What a step needs is not there yet; it is worth another look in `wait` seconds."""

    def __init__(self, wait: float) -> None:
        super().__init__(wait)
        self.wait = wait


class Yielded(BaseException):
    """A workflow on its way out of its place.

    Like `KeyboardInterrupt` it is no `Exception`: no handler on the way may swallow it. What the
    workflow did is written down step by step; the step that it left is not.
    """


class Backoff:
    """The executions of this process that left their places. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._due_at: dict[Claim, float] = {}

    def leave(self, claim: Claim, seconds: float) -> NoReturn:
        """End the execution that has the `claim`; its workflow comes back in so many seconds."""
        due = time.monotonic() + max(seconds, _SHORTEST_WAIT)
        with self._lock:
            self._due_at[claim] = due
        raise Yielded

    def waiting(self) -> set[str]:
        """The workflows that are to come back."""
        with self._lock:
            return {claim.workflow for claim in self._due_at}

    def bring_back(self, engine: sa.Engine) -> None:
        """Put those whose time has come into their queues again, before what was ordered later.

        One that another worker took over in the meantime is left to it.
        """
        for claim in self._due():
            put_back(engine, claim, counted=False)
            with self._lock:
                del self._due_at[claim]

    def _due(self) -> list[Claim]:
        now = time.monotonic()
        with self._lock:
            return [claim for claim, due in self._due_at.items() if due <= now]
