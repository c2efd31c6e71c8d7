"""Sends prepared HTTP requests at a fixed rate, whatever the answers do: a slow server does not
slow it down.

Raw sockets and bytes made beforehand, so that the sender costs little on the machine that it shares
with the server.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

_LONGEST = 30.0


@dataclass
class _Sender:
    host: str
    port: int
    idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = field(default_factory=list)

    async def send(self, request: bytes, due: float) -> tuple[int, float]:
        """The answer's status (0 for none), and the seconds from when the request was due to its
        last byte."""
        try:
            status = await asyncio.wait_for(self._exchange(request), _LONGEST)
        except (OSError, asyncio.IncompleteReadError, TimeoutError):
            status = 0
        return status, asyncio.get_running_loop().time() - due

    async def _exchange(self, request: bytes) -> int:
        reader, writer = (
            self.idle.pop() if self.idle else await asyncio.open_connection(self.host, self.port)
        )
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(
            line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")
        )
        await reader.readexactly(int(length.partition(b":")[2]))
        self.idle.append((reader, writer))
        return int(head.split(b" ", 2)[1])


def fire(host: str, port: int, requests: Sequence[bytes], rate: float) -> list[tuple[int, float]]:
    """Send `requests`, `rate` a second; (status, seconds) of each, waited for from when it
    was due."""

    async def all_of_them() -> list[tuple[int, float]]:
        sender, loop = _Sender(host, port), asyncio.get_running_loop()
        begun = loop.time() + 0.5
        tasks = []
        for n, request in enumerate(requests):
            due = begun + n / rate
            if (pause := due - loop.time()) > 0:
                await asyncio.sleep(pause)
            tasks.append(asyncio.create_task(sender.send(request, due)))
        answers = await asyncio.gather(*tasks)
        for _, writer in sender.idle:
            writer.close()
        return answers

    return asyncio.run(all_of_them())
