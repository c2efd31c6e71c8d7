"""Logs and artifacts: GitHub answers with the address of another host, which must not get our
token."""

from __future__ import annotations

import ipaddress
import socket
from urllib.parse import urlsplit

import httpx

from bot.github.api_version import api_version
from bot.github.client import GitHubError, RateLimited, retry_after

_TIMEOUT = httpx.Timeout(60.0, connect=10.0)
# Where an address is.
_MACHINE, _NETWORK, _WORLD = range(3)


class TooLarge(GitHubError):
    """More bytes than the caller takes."""


def job_log(api: str, token: str, repository: str, job: int, limit: int) -> bytes:
    """The log of a job, at most `limit` bytes.

    Raises `GitHubError`, with status 410 where GitHub has deleted it, and `RateLimited` where
    GitHub wants a pause.
    """
    return _download(api, token, f"/repos/{repository}/actions/jobs/{job}/logs", limit)


def artifact(api: str, token: str, repository: str, artifact_id: int, limit: int) -> bytes:
    """An artifact's zip file, at most `limit` bytes."""
    return _download(api, token, f"/repos/{repository}/actions/artifacts/{artifact_id}/zip", limit)


def _download(api: str, token: str, path: str, limit: int) -> bytes:
    headers = {"authorization": f"Bearer {token}", "x-github-api-version": api_version(api)}
    try:
        with httpx.Client(timeout=_TIMEOUT) as http:
            answer = http.get(api.rstrip("/") + path, headers=headers)
            if answer.status_code != 302:
                raise _refusal(answer, path)
            # The address is good for a minute.
            address = _checked(answer.headers.get("location", ""), api)
            with http.stream("GET", address) as stream:
                if stream.status_code != 200:
                    raise GitHubError(stream.status_code, path)
                return _read(stream, limit, path)
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        raise GitHubError(0, type(error).__name__) from None


def _checked(address: str, api: str) -> str:
    """The address where a file is.

    Raises `GitHubError` for one that is less secret than the API, or that leads to a machine which
    the API's own place does not: the service is in networks where a stranger is not.
    """
    there, here = urlsplit(address), urlsplit(api)
    if there.hostname == here.hostname and there.scheme == here.scheme:
        return address
    least = max(_NETWORK, _distance(here.hostname))
    if there.scheme not in ("https", here.scheme) or _distance(there.hostname) < least:
        raise GitHubError(302, f"no address of a file: {there.scheme}://{there.hostname}")
    return address


def _distance(host: str | None) -> int:
    """How far the nearest of a host's addresses is. A name that is not known here is the world's: a
    proxy may know it."""
    try:
        found = socket.getaddrinfo(host, None) if host else []
    except (OSError, UnicodeError):
        found = []
    return min((_distance_of(str(entry[4][0])) for entry in found), default=_WORLD)


def _distance_of(number: str) -> int:
    place = ipaddress.ip_address(number)
    if place.is_loopback or place.is_link_local or place.is_unspecified:
        return _MACHINE
    return _WORLD if place.is_global else _NETWORK


def _refusal(answer: httpx.Response, path: str) -> GitHubError:
    if not _is_limit(answer):
        return GitHubError(answer.status_code, path)
    wait = retry_after(answer.headers.get("retry-after", ""))
    return RateLimited(answer.status_code, path, wait)


def _is_limit(answer: httpx.Response) -> bool:
    """A 403 may be a limit and no refusal."""
    if answer.status_code == 429:
        return True
    if answer.status_code != 403:
        return False
    headers = answer.headers
    return "retry-after" in headers or headers.get("x-ratelimit-remaining") == "0"


def _read(stream: httpx.Response, limit: int, path: str) -> bytes:
    data = bytearray()
    for chunk in stream.iter_bytes():
        data += chunk
        if len(data) > limit:
            raise TooLarge(200, path)
    return bytes(data)
