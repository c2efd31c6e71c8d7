"""Deliveries on their way to the database, many in one transaction.

A transaction of its own for each costs a write to the disk each, and on SQLite they also wait for each other; a burst
of webhooks is stored together, and each is answered when its transaction is done.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import sqlalchemy as sa
from starlette.concurrency import run_in_threadpool

from bot.db.deliveries import Store
from bot.jobs.requests import Delivery

_MOST = 200


@dataclass
class DeliveryBatch:
    """Stores deliveries of one event loop in the order they come."""

    store: Store
    _waiting: list[tuple[Delivery, asyncio.Future[bool]]] = field(default_factory=list)
    _task: asyncio.Task[None] | None = None

    async def receive(self, delivery: Delivery) -> bool:
        """Whether the delivery was new; it is stored when this returns. Raises the database's error."""
        answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting.append((delivery, answer))
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._drain())
        return await answer

    async def _drain(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting[:_MOST], self._waiting[_MOST:]
            await self._store(batch)

    async def _store(self, batch: Sequence[tuple[Delivery, asyncio.Future[bool]]]) -> None:
        try:
            news = await run_in_threadpool(self.store.receive, [delivery for delivery, _ in batch])
        except sa.exc.SQLAlchemyError as error:
            if len(batch) > 1:
                # One of them may be at fault; the others are not to suffer for it.
                for one in batch:
                    await self._store([one])
            elif not batch[0][1].done():
                batch[0][1].set_exception(error)
            return
        for (_, answer), new in zip(batch, news, strict=True):
            if not answer.done():
                answer.set_result(new)
