"""Requests to GitHub's API, through PyGithub, with the waiting that GitHub asks for.

What is repeated, and when: an answer that says "not now" (403 or 429 with a limit's headers) for every request, since
it had no effect; a broken connection or a 5xx only where a second time does no harm. A request that adds something and
may have had its effect raises `Unsure`: who sent it looks whether it did.

What was read is kept with its ETag: GitHub does not count a question whose answer is still the same.
"""

from __future__ import annotations

import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import requests
from github import Auth, Github
from github.GithubException import GithubException

from bot.github.rate_limit import Pace

Json = dict[str, Any]
# The description that our tests hold every request against.
API_VERSION = "2026-03-10"
_ATTEMPTS = 4
# Without a word from GitHub, a secondary limit wants at least a minute.
UNTOLD_WAIT = 60.0
_NEXT = re.compile(r'<([^>]+)>; rel="next"')
_HARMLESS = ("GET", "PATCH", "PUT", "DELETE")


class GitHubError(Exception):
    """GitHub refused: its status and message."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status} {message}")
        self.status = status


class UncertainWrite(GitHubError):
    """A write was sent, and nothing says whether it had its effect."""


class RateLimited(GitHubError):
    """GitHub's limits are reached, for longer than who asks is willing to wait; `wait` says how long, in seconds. The
    request had no effect."""

    def __init__(self, status: int, message: str, wait: float = UNTOLD_WAIT) -> None:
        super().__init__(status, message)
        self.wait = wait


class Cache:
    """Answers with their ETags, the least recently used given up first. Safe to use from several threads."""

    def __init__(self, most: int = 2000) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[Mapping[str, str], Any]] = OrderedDict()

    def get(self, key: str) -> tuple[Mapping[str, str], Any] | None:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def put(self, key: str, headers: Mapping[str, str], data: Any) -> None:
        with self._lock:
            self._kept[key] = (headers, data)
            self._kept.move_to_end(key)
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)


class Client:
    """GitHub for one installation with one token, or for the App itself."""

    def __init__(
        self,
        url: str,
        auth: Auth.Auth,
        pace: Pace,
        cache: Cache,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._url = url.rstrip("/")
        self._pace = pace
        self._cache = cache
        self._sleep = sleep
        github = Github(
            auth=auth,
            base_url=self._url,
            retry=None,
            seconds_between_requests=None,
            seconds_between_writes=None,
        )
        self._requester = github.requester

    def get(self, path: str, **params: str | int) -> Any:
        """The answer to a GET."""
        return self._send("GET", path, params)[1]

    def get_new(self, path: str) -> Any:
        """The same for what was made a moment ago: GitHub tells of it before it can be read."""
        for _ in range(2):
            try:
                return self.get(path)
            except GitHubError as error:
                if error.status != 404:
                    raise
                self._sleep(1.0)
        return self.get(path)

    def pages(self, path: str, key: str | None = None, **params: str | int) -> Iterator[Any]:
        """The items of a list, page by page; `key` names the list where the answer is an object."""
        following: str | None = path
        asked: Mapping[str, str | int] = {"per_page": 100} | params
        while following is not None:
            headers, data = self._send("GET", following, asked)
            yield from data if key is None else data[key]
            match = _NEXT.search(headers.get("link", ""))
            following, asked = (match[1].removeprefix(self._url), {}) if match else (None, {})

    def post(self, path: str, body: Json, *, pace: bool = True) -> Any:
        """The answer to a POST. Raises `Unsure` where it may or may not have happened. Without `pace` it is none of the
        writes that GitHub counts."""
        return self._send("POST", path, {}, body, pace=pace)[1]

    def patch(self, path: str, body: Json, *, adds: bool = False) -> Any:
        """The answer to a PATCH. One that `adds` to what is there raises `Unsure` as a POST does."""
        return self._send("PATCH", path, {}, body, again=not adds)[1]

    def graphql(self, query: str, variables: Json) -> Json:
        """`data` of the answer. Queries and mutations alike are repeated: ours set a state and add nothing."""
        body = {"query": query, "variables": variables}
        _, answer = self._send(
            "POST", "/graphql", {}, body, again=True, pace=query.lstrip().startswith("mutation")
        )
        if answer.get("errors"):
            said = "; ".join(e["message"] for e in answer["errors"])
            if any(e.get("type") == "RATE_LIMITED" for e in answer["errors"]):
                self._pace.pause(UNTOLD_WAIT)
                raise RateLimited(200, said)
            raise GitHubError(200, said)
        data: Json = answer["data"]
        return data

    def _send(
        self,
        method: str,
        path: str,
        params: Mapping[str, str | int],
        body: Json | None = None,
        *,
        again: bool | None = None,
        pace: bool | None = None,
    ) -> tuple[Mapping[str, str], Any]:
        again = method in _HARMLESS if again is None else again
        pace = method != "GET" if pace is None else pace
        for attempt in range(1, _ATTEMPTS + 1):
            if (left := self._pace.paused) > self._pace.patience:
                raise RateLimited(429, f"{method}: not before a pause is over", left)
            if pace:
                self._pace.wait()
            try:
                return self._once(method, path, params, body)
            except GithubException as error:
                wait = _wait(error, attempt, again)
                limited = wait is not None and error.status < 500
                if wait is not None and limited:
                    self._pace.pause(wait)
                if wait is None or attempt == _ATTEMPTS or (limited and wait > self._pace.patience):
                    raise _as_ours(error, method, again, wait) from None
            except (requests.ConnectionError, requests.Timeout) as error:
                if not again or attempt == _ATTEMPTS:
                    kind = GitHubError if again else UncertainWrite
                    raise kind(0, type(error).__name__) from None
                wait = float(2 ** (attempt - 1))
            self._sleep(wait)
        raise AssertionError("the last attempt returns or raises")

    def _once(
        self, method: str, path: str, params: Mapping[str, str | int], body: Json | None
    ) -> tuple[Mapping[str, str], Any]:
        url = path if path != "/graphql" else self._requester.graphql_url
        headers = {"X-GitHub-Api-Version": API_VERSION, "Accept": "application/vnd.github+json"}
        if method != "GET":
            return self._requester.requestJsonAndCheck(method, url, dict(params), headers, body)
        key = f"{path}?{sorted(params.items())}"
        kept = self._cache.get(key)
        if kept is not None:
            headers["If-None-Match"] = kept[0]["etag"]
        answered, data = self._requester.requestJsonAndCheck(method, url, dict(params), headers)
        if kept is not None and data is None:
            return kept
        if "etag" in answered:
            self._cache.put(key, answered, data)
        return answered, data


def _wait(error: GithubException, attempt: int, again: bool) -> float | None:
    """Seconds to wait before the request is sent again; None where it is not."""
    headers = {k.lower(): v for k, v in (error.headers or {}).items()}
    if error.status in (403, 429):
        if "retry-after" in headers:
            return float(headers["retry-after"])
        if headers.get("x-ratelimit-remaining") == "0":
            return max(0.0, float(headers.get("x-ratelimit-reset", "0")) - time.time()) + 1.0
        return UNTOLD_WAIT * attempt if "secondary rate limit" in _message(error).lower() else None
    return float(2 ** (attempt - 1)) if error.status >= 500 and again else None


def _as_ours(error: GithubException, method: str, again: bool, wait: float | None) -> GitHubError:
    said = f"{method}: {_message(error)}"
    if error.status >= 500:
        return (GitHubError if again else UncertainWrite)(error.status, said)
    return (
        GitHubError(error.status, said) if wait is None else RateLimited(error.status, said, wait)
    )


def _message(error: GithubException) -> str:
    data = error.data
    if not isinstance(data, dict):
        return str(data)
    details = data.get("errors") or []
    said = [d if isinstance(d, str) else str(d.get("message", d)) for d in details]
    return ": ".join([str(data.get("message", "")), *said])
