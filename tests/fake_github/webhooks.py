"""Webhooks: signed, checked against the description, and kept with what was answered."""

from __future__ import annotations

import hashlib
import hmac
import json
import threading
import uuid
from typing import Any

import httpx

from tests.fake_github import state
from tests.fake_github.description import check_webhook
from tests.fake_github.server import FakeGitHub


def signature(secret: str, payload: bytes) -> str:
    return "sha256=" + hmac.new(secret.encode(), payload, hashlib.sha256).hexdigest()


def headers(event: str, guid: str, payload: bytes, secret: str) -> dict[str, str]:
    return {
        "content-type": "application/json",
        "user-agent": "GitHub-Hookshot/0000000",
        "x-github-event": event,
        "x-github-delivery": guid,
        "x-hub-signature-256": signature(secret, payload),
        "x-github-hook-installation-target-type": "integration",
    }


def deliver(
    fake: FakeGitHub, repo: state.Repository, event: str, data: dict[str, Any], *, send: bool = True
) -> state.Delivery:
    """Send one webhook and wait for the answer; with `send` off it gets lost on the way, as
    GitHub's sometimes do."""
    payload = json.dumps(data, ensure_ascii=False).encode()
    check_webhook(event, payload)
    installation = fake.installation_of(repo)
    made = state.Delivery(
        str(uuid.uuid4()),
        event,
        data.get("action"),
        payload,
        installation.id if installation else 0,
        repo.id,
    )
    with fake.lock:
        fake.deliveries.append(made)
    if send:
        attempt(fake, made)
    return made


def attempt(fake: FakeGitHub, one: state.Delivery) -> None:
    """POST it, and keep the answer as GitHub's list of deliveries would show it."""
    fields = headers(one.event, one.guid, one.payload, fake.webhook_secret)
    try:
        # Without `verify=False`, httpx reads every certificate of the system for a plain HTTP
        # request.
        with httpx.Client(timeout=10, trust_env=False, verify=False) as http:
            answer = http.post(fake.webhook_url, content=one.payload, headers=fields)
    except httpx.HTTPError:
        one.status, one.status_code = "failed to connect to host", 0
    else:
        one.status, one.status_code = answer.reason_phrase, answer.status_code


def redeliver(fake: FakeGitHub, one: state.Delivery) -> None:
    """A new attempt with the same guid, sent when the request that asked for it is answered."""
    again = state.Delivery(
        one.guid,
        one.event,
        one.action,
        one.payload,
        one.installation,
        one.repository,
        redelivery=True,
    )
    fake.deliveries.append(again)
    threading.Thread(target=attempt, args=(fake, again), daemon=True).start()
