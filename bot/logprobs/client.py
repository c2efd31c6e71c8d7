"""One request to an OpenAI-compatible server: asked again where that can help, and never where it
cannot.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx
import orjson

from bot.errors import UserError
from checks.logprobs.cells import ResponseError
from checks.logprobs.openai import merge_chunks
from checks.logprobs.sse import events, lines

_PATHS = {"chat": "chat/completions", "completions": "completions"}
_FIRST_WAIT = 0.25
_LONGEST_WAIT = 60.0
_HOPELESS = (401, 403, 404)


class Refused(Exception):
    """The server will not answer this one request (a 4xx): what it said."""


class _Again(Exception):
    """Asking again may help; `wait` is the server's own wish in seconds, None where it has none."""

    def __init__(self, reason: str, wait: float | None = None) -> None:
        super().__init__(reason)
        self.wait = wait


@dataclass(frozen=True, slots=True)
class Server:
    """Where requests go.

    `timeout`: seconds for a whole answer; `retries`: how often one is asked again. `secret`: the
    key, "" for none.
    """

    client: httpx.AsyncClient
    url: str
    timeout: float
    retries: int
    secret: str

    async def answer(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        """The answer's JSON, its chunks put together where `payload` asks for a stream.

        Raises `Refused` for what this request alone has brought on, `ResponseError` for an answer
        that can't be read, and `UserError` where the server answers nobody. A connection that
        fails, a timeout, 429 and 5xx are asked again, after a wait that doubles; another 4xx never
        is.
        """
        for attempt in range(self.retries + 1):
            try:
                async with asyncio.timeout(self.timeout):
                    return await self._once(payload)
            except (_Again, TimeoutError, httpx.RequestError) as error:
                reason = _reason(error)
                wait = _wait(error, attempt)
            if attempt < self.retries:
                await asyncio.sleep(wait)
        raise UserError(
            "endpoint-silent", url=self.url, times=self.retries + 1, reason=self.hidden(reason)
        )

    async def _once(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        response = await self.client.post(self.url, json=dict(payload))
        if response.status_code != 200:
            raise self._failed(response)
        return _merged(response.content) if payload.get("stream") else _json(response.content)

    def hidden(self, said: str) -> str:
        """What the server said, without the key, which it may repeat."""
        return said.replace(self.secret, "***") if self.secret else said

    def _failed(self, response: httpx.Response) -> Exception:
        said = self.hidden(_said(response.content))
        status = f"{response.status_code} {response.reason_phrase}".strip()
        if response.status_code == 429 or response.status_code >= 500:
            return _Again(status, _seconds(response.headers.get("retry-after", "")))
        if response.status_code in _HOPELESS or response.status_code < 400:
            return UserError(
                "endpoint-refuses", url=self.url, status=status, said="" if said in status else said
            )
        return Refused(f"{status}: {said}" if said else status)


def _wait(error: Exception, attempt: int) -> float:
    """Seconds until the next attempt: they double each time, or more where the server asks."""
    wait: float = _FIRST_WAIT * 2**attempt
    if isinstance(error, _Again) and error.wait is not None:
        wait = max(wait, error.wait)
    return min(wait, _LONGEST_WAIT)


def _merged(body: bytes) -> dict[str, Any]:
    """The streamed answer.

    One that breaks off, or ends in an error, is a server that went down: asked again.
    """
    try:
        answer = merge_chunks(events(lines(body.decode("utf-8", "replace"))))
    except ResponseError as error:
        if error.key in ("cut-off", "error"):
            raise _Again(str(error.args_.get("said", "")) or error.key) from error
        raise
    if not answer["choices"] or not all(
        choice.get("finish_reason") for choice in answer["choices"]
    ):
        raise _Again("cut-off")
    return answer


def address(endpoint: str, api: str) -> str:
    """The URL of an API: `endpoint` may end before /v1, with it, or with the whole path.

    Raises `UserError`.
    """
    try:
        url = httpx.URL(endpoint.rstrip("/"))
    except httpx.InvalidURL as error:
        raise UserError("endpoint-url", url=endpoint) from error
    if url.scheme not in ("http", "https") or not url.host or url.userinfo or url.query:
        raise UserError(
            "endpoint-url", url=str(url.copy_with(userinfo=b"")) if url.host else endpoint
        )
    path = url.path.rstrip("/")
    if not path.endswith("/" + _PATHS[api]):
        path += f"/{_PATHS[api]}" if path.endswith("/v1") else f"/v1/{_PATHS[api]}"
    return str(url.copy_with(path=path))


def _said(body: bytes) -> str:
    """The server's message, in one line of at most 200 characters."""
    try:
        data = orjson.loads(body)
    except orjson.JSONDecodeError:
        data = body.decode("utf-8", "replace")
    for name in ("error", "detail", "message"):
        data = data.get(name, data) if isinstance(data, dict) else data
    return " ".join(str(data).split())[:200]


def _json(body: bytes) -> dict[str, Any]:
    try:
        data = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise ResponseError("not-a-response", said="") from error
    if not isinstance(data, dict):
        raise ResponseError("not-a-response", said="")
    return data


def _seconds(retry_after: str) -> float | None:
    """The header's seconds; its other form, a date, is not worth a clock."""
    return float(retry_after) if retry_after.isdecimal() else None


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError | httpx.TimeoutException):
        return "timeout"
    return str(error) or type(error).__name__
