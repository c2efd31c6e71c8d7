"""HTTP for strangers: who opens a connection has to say soon what is wanted."""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

# Seconds for the whole head of a request. GitHub sends it at once.
_LONGEST_HEAD = 20.0


class PromptProtocol(H11Protocol):
    """Ends a connection whose next head takes longer than `_LONGEST_HEAD`.

    uvicorn itself waits for ever, so that a few thousand connections that send a byte a minute
    would take every file handle.
    """

    _too_slow: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """A connection is open, and nothing was asked yet."""
        super().connection_made(transport)
        self._await_head()

    def data_received(self, data: bytes) -> None:
        """More of a head or a body. The time of a head is not renewed by each byte of it."""
        if self.conn.their_state is h11.IDLE:
            self._await_head()
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        """The other side has gone, or we closed it."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _await_head(self) -> None:
        if self._too_slow is None:
            self._too_slow = self.loop.call_later(_LONGEST_HEAD, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._too_slow is not None:
            self._too_slow.cancel()
            self._too_slow = None
