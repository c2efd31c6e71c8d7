"""Which version of its API a GitHub server speaks: GitHub Enterprise Server is years behind."""

from __future__ import annotations

import threading
import time

import httpx

from bot.urls import API

# Those that this program can read the answers of, the newest first. The first is the description
# that our tests hold every request against.
SPOKEN = ("2026-03-10", "2022-11-28")
_TIMEOUT = httpx.Timeout(10.0)
_lock = threading.Lock()
_known: dict[str, str] = {}
_ask_not_before: dict[str, float] = {}
# Seconds.
_SILENT = 60.0


def api_version(api: str) -> str:
    """The newest version that both speak. A server is asked once; one that does not answer is asked
    again a minute later."""
    api = api.rstrip("/")
    if api == API:
        return SPOKEN[0]
    with _lock:
        if api in _known:
            return _known[api]
        if time.monotonic() < _ask_not_before.get(api, 0.0):
            return SPOKEN[0]
        told = _ask(api)
        if told is None:
            _ask_not_before[api] = time.monotonic() + _SILENT
            return SPOKEN[0]
        _known[api] = told
        return told


def _ask(api: str) -> str | None:
    """None where nobody answers. `GET /versions` needs no token; before it there was one version
    alone."""
    try:
        answer = httpx.get(f"{api}/versions", timeout=_TIMEOUT)
        if answer.status_code == 404:
            return SPOKEN[-1]
        if answer.status_code != 200:
            return None
        offered = answer.json()
    except (httpx.HTTPError, ValueError):
        return None
    if not isinstance(offered, list):
        return None
    return next((version for version in SPOKEN if version in offered), SPOKEN[-1])
