"""Work that can only go on later leaves its place on the worker to other work, and comes back.

A queue has few places on a worker. What waits in one, an hour where GitHub's limits are reached, keeps from it what has
nothing to wait for, also that of other installations. The workflow stays the worker's all the while: nothing later of
the same pull request overtakes it, and where the worker dies, it is taken up at once as all that was running.
"""

from __future__ import annotations

import threading
import time
from typing import NoReturn

from bot.db.deliveries import Store

_SHORTEST = 0.5


class RetryLater(Exception):
    """What a step needs is not there yet; it is worth another look in `wait` seconds."""

    def __init__(self, wait: float) -> None:
        super().__init__(wait)
        self.wait = wait


class Yielded(BaseException):
    """A workflow on its way out of its place; like `KeyboardInterrupt`, nobody's to handle on the way. What it did is
    written down step by step, and the step that it left is none of them."""


class Backoff:
    """The workflows of this process that left. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._until: dict[str, float] = {}

    def leave(self, workflow: str, seconds: float) -> NoReturn:
        """End the present execution of `workflow`, which comes back in so many seconds."""
        with self._lock:
            self._until[workflow] = time.monotonic() + max(seconds, _SHORTEST)
        raise Yielded

    def bring_back(self, store: Store, worker: str) -> None:
        """Put those whose time has come into their queues again, before what was ordered later; not one that another
        worker took over."""
        for workflow in self._due():
            for found in store.client.list_workflows(
                workflow_ids=[workflow], status="PENDING", executor_id=worker
            ):
                store.client.resume_workflow(workflow, queue_name=found.queue_name)
            with self._lock:
                del self._until[workflow]

    def _due(self) -> list[str]:
        now = time.monotonic()
        with self._lock:
            return [workflow for workflow, until in self._until.items() if until <= now]
