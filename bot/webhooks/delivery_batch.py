"""Deliveries on their way to the database, many in one transaction.

A transaction of its own for each delivery would cost a write to the disk each, and on SQLite they
would also wait for each other. A burst of webhooks is stored together, and each is answered when
its transaction is done.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import sqlalchemy as sa
from anyio import CapacityLimiter, to_thread

from bot.db.deliveries import Store
from bot.jobs.requests import Delivery

_LARGEST_BATCH = 200


@dataclass
class DeliveryBatch:
    """Stores deliveries of one event loop in the order they come."""

    store: Store
    # Pages wait for GitHub in the threads that all share.
    _thread: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(1))
    _waiting: list[tuple[Delivery, asyncio.Future[bool]]] = field(default_factory=list)
    _task: asyncio.Task[None] | None = None

    async def receive(self, delivery: Delivery) -> bool:
        """Whether the delivery was new; it is stored when this returns. Raises the database's
        error."""
        answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting.append((delivery, answer))
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._drain())
        return await answer

    async def _drain(self) -> None:
        while self._waiting:
            batch = self._waiting[:_LARGEST_BATCH]
            self._waiting = self._waiting[_LARGEST_BATCH:]
            await self._store(batch)

    async def _store(self, batch: Sequence[tuple[Delivery, asyncio.Future[bool]]]) -> None:
        deliveries = [delivery for delivery, _ in batch]
        try:
            are_new = await to_thread.run_sync(self.store.receive, deliveries, limiter=self._thread)
        except (sa.exc.SQLAlchemyError, ValueError, OverflowError, TypeError) as error:
            # A driver says in its own way that it cannot write a number or a character.
            await self._store_apart(batch, error)
            return
        for (_, answer), is_new in zip(batch, are_new, strict=True):
            if not answer.done():
                answer.set_result(is_new)

    async def _store_apart(
        self, batch: Sequence[tuple[Delivery, asyncio.Future[bool]]], error: Exception
    ) -> None:
        """Store the deliveries one by one: one of them may be at fault, and the others are not to
        suffer for it."""
        if len(batch) > 1:
            for waiting in batch:
                await self._store([waiting])
            return
        _, answer = batch[0]
        if not answer.done():
            answer.set_exception(error)
