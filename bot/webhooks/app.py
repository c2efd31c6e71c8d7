"""The web side: it takes webhooks, and says how the service is."""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import sqlalchemy as sa
import structlog
from anyio import CapacityLimiter, to_thread
from pydantic import SecretStr
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bot.context import metrics
from bot.db.deliveries import Store
from bot.db.engine import is_database_away
from bot.files import require_room
from bot.jobs.requests import Delivery, JobRequest
from bot.webhooks.delivery_batch import DeliveryBatch
from bot.webhooks.handlers import HANDLERS

_log = structlog.get_logger("specbot.web")
# GitHub's are GUIDs; what is longer is not GitHub's and would not fit its column.
_LONGEST_NAME = 64
_LARGEST_NUMBER = (1 << 63) - 1
# Seconds for the whole body. GitHub itself waits ten for the answer.
_LONGEST_UPLOAD = 20.0


class RefusedRequest(Exception):
    """A request that is answered with an error, and the error."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


def application(
    store: Store,
    secrets: Sequence[SecretStr],
    largest: int,
    data_dir: Path,
    pages: Sequence[Route] = (),
) -> Starlette:
    """The routes, with those of `pages`. A webhook of more than `largest` bytes is refused; where
    the disk of `data_dir` is full, the service is not ready."""
    batch = DeliveryBatch(store)
    # Of its own, and one: whoever asks for pages keeps no probe waiting, nor probes each other.
    probing = CapacityLimiter(1)

    async def webhook(request: Request) -> Response:
        try:
            body = await _body(request, largest)
            _verify(body, request.headers.get("x-hub-signature-256", ""), secrets)
            outcome = await _receive(batch, request, body)
        except (ValueError, OverflowError, TypeError):
            # It is signed, and the database cannot hold it: an id out of its range, half a
            # character. Sent again it would be the same.
            metrics.DELIVERIES.labels("not-stored").inc()
            _log.error("webhook cannot be stored")
            return JSONResponse({"outcome": "ignored"}, 202)
        except sa.exc.SQLAlchemyError as error:
            metrics.DELIVERIES.labels("failed").inc()
            _log.error("webhook was not stored", error=str(error))
            away = is_database_away(error)
            return JSONResponse({"error": "not stored"}, 503 if away else 500)
        except RefusedRequest as refusal:
            metrics.DELIVERIES.labels("refused").inc()
            _log.warning("webhook refused", reason=refusal.reason)
            # What is left of the body is not waited for.
            end = {"connection": "close"}
            return JSONResponse({"error": refusal.reason}, refusal.status, headers=end)
        metrics.DELIVERIES.labels(outcome).inc()
        return JSONResponse({"outcome": outcome}, 202)

    def probe() -> None:
        store.check_writing()
        require_room(data_dir)

    async def ready(_: Request) -> Response:
        try:
            await to_thread.run_sync(probe, limiter=probing)
        except (sa.exc.SQLAlchemyError, OSError):
            return JSONResponse({"ready": False}, 503)
        return JSONResponse({"ready": True})

    async def healthy(_: Request) -> Response:
        return JSONResponse({"alive": True})

    return Starlette(
        routes=[
            Route("/webhook", webhook, methods=["POST"]),
            Route("/healthz", healthy),
            Route("/readyz", ready),
            *pages,
        ]
    )


async def _body(request: Request, largest: int) -> bytes:
    """The raw body, read no further than `largest` and no longer than `_LONGEST_UPLOAD`."""
    body = bytearray()
    try:
        async with asyncio.timeout(_LONGEST_UPLOAD):
            async for chunk in request.stream():
                body += chunk
                if len(body) > largest:
                    raise RefusedRequest(413, "too large")
    except ClientDisconnect:
        raise RefusedRequest(400, "cut off") from None
    except TimeoutError:
        raise RefusedRequest(408, "too slow") from None
    return bytes(body)


def _verify(body: bytes, signature: str, secrets: Sequence[SecretStr]) -> None:
    """Refuse `body` unless who wrote it knows one of the secrets.

    All are tried, in constant time each, so that the time does not tell which one is right.
    """
    given = signature.encode("utf-8", "replace")
    matches = False
    for secret in secrets:
        digest = hmac.digest(secret.get_secret_value().encode(), body, "sha256")
        expected = b"sha256=" + digest.hex().encode()
        matches |= hmac.compare_digest(given, expected)
    if not matches:
        raise RefusedRequest(401, "wrong signature")


async def _receive(batch: DeliveryBatch, request: Request, body: bytes) -> str:
    delivery = request.headers.get("x-github-delivery", "")
    event = request.headers.get("x-github-event", "")
    if not _is_name(delivery) or not _is_name(event):
        raise RefusedRequest(400, "no delivery id or event")
    job = _job_request(delivery, event, _parse(body))
    with structlog.contextvars.bound_contextvars(delivery=delivery, github_event=event):
        with metrics.RECEIVE_SECONDS.time():
            is_new = await batch.receive(Delivery(delivery, event, job))
        outcome = "accepted"
        if not is_new:
            outcome = "duplicate"
        elif job is None:
            outcome = "ignored"
        _log.info("webhook received", outcome=outcome, workflow=job.id if job else None)
    return outcome


def _storable(request: JobRequest) -> JobRequest:
    """The request, where every database can hold it. Raises `ValueError`."""
    for argument in request.arguments:
        text = json.dumps(argument, ensure_ascii=False)
        # Half of a pair is no character, and PostgreSQL takes no zero.
        text.encode()
        if "\\u0000" in text:
            raise ValueError("a zero")
        _check_numbers(argument)
    return request


def _check_numbers(value: Any) -> None:
    """Raise `ValueError` at a whole number that fits no column of 64 bits."""
    if isinstance(value, int) and abs(value) > _LARGEST_NUMBER:
        raise ValueError(value)
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for part in value:
            _check_numbers(part)


def _is_name(text: str) -> bool:
    return 0 < len(text) <= _LONGEST_NAME


def _parse(body: bytes) -> dict[str, Any]:
    try:
        payload = json.loads(body, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise RefusedRequest(400, "no JSON") from None
    if not isinstance(payload, dict):
        raise RefusedRequest(400, "no object")
    return payload


def _refuse_constant(name: str) -> None:
    """`NaN` and `Infinity` are no JSON, though Python reads them."""
    raise ValueError(name)


def _job_request(delivery: str, event: str, payload: dict[str, Any]) -> JobRequest | None:
    handler = HANDLERS.get(event)
    if handler is None:
        return None
    try:
        request = handler(delivery, payload)
        return request if request is None else _storable(request)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        # It is signed, so it is GitHub's and new to us; refusing it would only bring it back.
        _log.error("webhook not understood", delivery=delivery, github_event=event)
        return None
