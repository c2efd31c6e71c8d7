"""Logs and artifacts: GitHub answers with the address of another host, which must not get our
token."""

from __future__ import annotations

import httpx

from bot.github.api_version import api_version
from bot.github.client import GitHubError, RateLimited, retry_after

_TIMEOUT = httpx.Timeout(60.0, connect=10.0)


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
            with http.stream("GET", answer.headers["location"], follow_redirects=True) as stream:
                if stream.status_code != 200:
                    raise GitHubError(stream.status_code, path)
                return _read(stream, limit, path)
    except httpx.HTTPError as error:
        raise GitHubError(0, type(error).__name__) from None


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
