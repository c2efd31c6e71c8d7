"""Whether the service works now: its address, its workers, its queues, and a webhook sent again."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import httpx

from bot.app.check_result import CheckResult, result
from bot.context.state_metrics import StateCollector
from bot.db.engine import engine_for
from bot.github import Client, GitHubError
from bot.settings import Settings

_TIMEOUT = httpx.Timeout(10.0)
# Seconds. As in `templates/operations/alerts.yml`.
_OLDEST_WORK = 900.0
# Seconds that GitHub may take to send a webhook again.
_LONGEST_ECHO = 60.0
_POLL = 1.0


def run_live_checks(settings: Settings) -> Iterator[CheckResult]:
    """Every sign of life. GitHub is asked to send the last webhook again; a service that knows it
    answers and does nothing."""
    client = settings.app.itself
    try:
        yield _ready(client)
        yield from _numbers(settings)
        yield _echo(client)
    except GitHubError as error:
        yield result("app.github-refused", False, reason=str(error))


def _ready(client: Client) -> CheckResult:
    url = str(client.get("/app/hook/config").get("url") or "").removesuffix("/webhook") + "/readyz"
    try:
        status = httpx.get(url, timeout=_TIMEOUT).status_code
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        return result("app.hook-silent", False, url=url, reason=type(error).__name__)
    good = status == 200
    return result("app.live-ready" if good else "app.live-not-ready", good, url=url, status=status)


def _numbers(settings: Settings) -> Iterator[CheckResult]:
    """What the service's own metrics say, read from its database."""
    engine = engine_for(settings.database)
    collector = StateCollector(engine, settings.data_dir, settings.writes_per_hour)
    samples = [sample for metric in collector.collect() for sample in metric.samples]
    engine.dispose()
    silent = [s.value for s in samples if s.name == "specbot_worker_silent_seconds"]
    alive = sum(seconds <= settings.dead_after for seconds in silent)
    yield result("app.live-workers" if alive else "app.live-no-worker", alive > 0, count=alive)
    waiting = [s.value for s in samples if s.name == "specbot_queue_oldest_seconds"]
    oldest = max(waiting, default=0.0)
    good = oldest < _OLDEST_WORK
    yield result("app.live-queue" if good else "app.live-queue-old", good, seconds=round(oldest))
    failed = sum(
        int(s.value)
        for s in samples
        if s.name == "specbot_workflows" and s.labels["state"] == "ERROR"
    )
    if failed:
        yield result("app.live-failed", None, count=failed)


def _echo(client: Client) -> CheckResult:
    attempts = client.get("/app/hook/deliveries", per_page=1)
    if not attempts:
        return result("app.deliveries-none", None)
    newest = attempts[0]
    begun = time.monotonic()
    client.post(f"/app/hook/deliveries/{newest['id']}/attempts", {})
    while time.monotonic() - begun < _LONGEST_ECHO:
        answered = _answer(client, newest)
        if answered is not None:
            good = 200 <= answered < 300
            key = "app.live-echo" if good else "app.live-echo-refused"
            return result(key, good, status=answered, seconds=round(time.monotonic() - begun))
        time.sleep(_POLL)
    return result("app.live-echo-lost", False, seconds=round(_LONGEST_ECHO))


def _answer(client: Client, newest: dict[str, Any]) -> int | None:
    """The status of a newer attempt at the same webhook; None while there is none."""
    for attempt in client.get("/app/hook/deliveries", per_page=30):
        if attempt["id"] == newest["id"]:
            return None
        if attempt["guid"] == newest["guid"] and attempt["status_code"]:
            return int(attempt["status_code"])
    return None
