"""Requests to GitHub's API, through PyGithub, with the waiting that GitHub asks for.

What is repeated, and when: an answer that says "not now" (403 or 429 with a limit's headers) for
every request, since it had no effect; the same, once and with a new token, where GitHub does not
know the token; a broken connection, a 5xx, or an answer that is not GitHub's (a proxy's page, the
half of one) only where a second time does no harm. A request that adds something and may have had
its effect raises `UncertainWrite`: who sent it looks whether it did.

What was read is kept with its ETag: GitHub does not count a question whose answer is still the
same.
"""

from __future__ import annotations

import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from email.utils import parsedate_to_datetime
from typing import Any

import requests
from github import Auth, Github
from github.GithubException import GithubException

from bot.github.api_version import api_version
from bot.github.rate_limit import RateLimiter

Json = dict[str, Any]
_JSON = "application/vnd.github+json"
_ATTEMPTS = 4
# Without a word from GitHub, a secondary limit wants at least a minute.
UNTOLD_WAIT = 60.0
# No limit of GitHub's is longer than its hour; what says so was written by something else.
_LONGEST_WAIT = 2 * 3600.0
_NEXT = re.compile(r'<([^>]+)>; rel="next"')
_HARMLESS = ("GET", "PATCH", "PUT", "DELETE")


# GitHub does not know who asks: a token has come to its end, or was taken back.
UNAUTHORIZED = 401
# GitHub does not take what a request says.
UNPROCESSABLE = 422


class GitHubError(Exception):
    """GitHub refused: its status and message."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status} {message}")
        self.status = status


class UncertainWrite(GitHubError):
    """A write was sent, and nothing says whether it had its effect."""


class RateLimited(GitHubError):
    """GitHub's limits are reached, for longer than who asks is willing to wait.

    `wait` says how long, in seconds. The request had no effect.
    """

    def __init__(self, status: int, message: str, wait: float = UNTOLD_WAIT) -> None:
        super().__init__(status, message)
        self.wait = wait


class _NoAnswer(Exception):
    """What came is none of GitHub's answers: a proxy's page, the half of one, a redirection."""


class Cache:
    """Answers with their ETags, the least recently used given up first. Safe to use from several
    threads."""

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
        auth: Auth.Auth | None,
        pace: RateLimiter,
        cache: Cache,
        sleep: Callable[[float], None] = time.sleep,
        *,
        attempts: int = _ATTEMPTS,
        renew: Callable[[Mapping[str, str]], Auth.Auth] | None = None,
    ) -> None:
        """`attempts` is how often a request is sent in all; a person who waits wants one. `renew`
        is asked for another token when GitHub does not know this one, with the headers of its
        answer."""
        self._url = url.rstrip("/")
        self._pace = pace
        self._cache = cache
        self._sleep = sleep
        self._attempts = attempts
        self._renew = renew
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
        query: Mapping[str, str | int] = {"per_page": 100} | params
        while True:
            headers, data = self._send("GET", path, query, key=key or "")
            yield from _listed(data if key is None else data[key])
            next_page = _NEXT.search(headers.get("link", ""))
            if next_page is None:
                return
            # The address of the next page has the parameters in it.
            path, query = next_page[1].removeprefix(self._url), {}

    def page(self, path: str, **params: str | int) -> tuple[list[Any], str]:
        """One page of a list, and the path of the next; empty where there is none."""
        headers, data = self._send("GET", path, params)
        next_page = _NEXT.search(headers.get("link", ""))
        return _listed(data), next_page[1].removeprefix(self._url) if next_page else ""

    def post(self, path: str, body: Json, *, key: str = "", pace: bool = True) -> Any:
        """The answer to a POST. Raises `UncertainWrite` where it may or may not have happened.

        `key` is one that GitHub's answer has: without it nothing says that it happened. Without
        `pace` it is none of the writes that GitHub counts.
        """
        return self._send("POST", path, {}, body, key=key, pace=pace)[1]

    def patch(self, path: str, body: Json, *, adds: bool = False) -> Any:
        """What was changed, as it is now. A change that `adds` to what is there raises
        `UncertainWrite` as a POST does."""
        return self._send("PATCH", path, {}, body, key="id", again=not adds)[1]

    def delete(self, path: str) -> None:
        """Delete what is at `path`; a second time does no harm."""
        self._send("DELETE", path, {}, again=True)

    def graphql(self, query: str, variables: Json) -> Json:
        """`data` of the answer. Queries and mutations alike are repeated: ours set a state and add
        nothing."""
        body = {"query": query, "variables": variables}
        is_mutation = query.lstrip().startswith("mutation")
        _, answer = self._send("POST", "/graphql", {}, body, again=True, pace=is_mutation)
        errors = answer and answer.get("errors")
        if errors:
            message = "; ".join(error["message"] for error in errors)
            if any(error.get("type") == "RATE_LIMITED" for error in errors):
                self._pace.pause(UNTOLD_WAIT)
                raise RateLimited(200, message)
            raise GitHubError(200, message)
        if not answer or "data" not in answer:
            raise GitHubError(0, "no answer of GraphQL's")
        data: Json = answer["data"]
        return data

    def _send(
        self,
        method: str,
        path: str,
        params: Mapping[str, str | int],
        body: Json | None = None,
        *,
        key: str = "",
        again: bool | None = None,
        pace: bool | None = None,
    ) -> tuple[Mapping[str, str], Any]:
        """The headers and the data of the answer, which has the `key`.

        `again`: a second time does no harm. `pace`: GitHub counts it as a write. Both follow from
        the method where they are not given.
        """
        if again is None:
            again = method in _HARMLESS
        if pace is None:
            pace = method != "GET"
        for attempt in range(1, self._attempts + 1):
            pause = self._pace.paused
            if pause > self._pace.patience:
                raise RateLimited(429, f"{method}: not before a pause is over", pause)
            if pace:
                self._pace.wait()
            try:
                headers, data = self._with_known_token(method, path, params, body)
                if key and (not isinstance(data, dict) or key not in data):
                    raise _NoAnswer(f"an answer without {key}")
                return headers, data
            except GithubException as error:
                wait_or_none = _wait(error, attempt, again)
                if wait_or_none is None:
                    raise _own_error(error, method, again, None) from None
                wait = wait_or_none
                is_limit = error.status < 500
                if is_limit:
                    self._pace.pause(wait)
                too_long = is_limit and wait > self._pace.patience
                if too_long or attempt == self._attempts:
                    raise _own_error(error, method, again, wait) from None
            except (requests.RequestException, _NoAnswer) as error:
                if not again or attempt == self._attempts:
                    kind = GitHubError if again else UncertainWrite
                    raise kind(0, str(error) or type(error).__name__) from None
                wait = float(2 ** (attempt - 1))
            self._sleep(wait)
        raise AssertionError("the last attempt returns or raises")

    def _with_known_token(
        self, method: str, path: str, params: Mapping[str, str | int], body: Json | None
    ) -> tuple[Mapping[str, str], Any]:
        try:
            return self._once(method, path, params, body)
        except GithubException as error:
            if error.status != UNAUTHORIZED or self._renew is None:
                raise
            refusal = _lower(error.headers)
        self._requester = self._requester.withAuth(self._renew(refusal))
        return self._once(method, path, params, body)

    def _once(
        self, method: str, path: str, params: Mapping[str, str | int], body: Json | None
    ) -> tuple[Mapping[str, str], Any]:
        url = self._requester.graphql_url if path == "/graphql" else path
        headers = {"X-GitHub-Api-Version": api_version(self._url), "Accept": _JSON}
        if method != "GET":
            return self._ask(method, url, params, headers, body)
        key = f"{path}?{sorted(params.items())}"
        kept = self._cache.get(key)
        if kept is not None:
            headers["If-None-Match"] = kept[0]["etag"]
        answered, data = self._ask(method, url, params, headers)
        if kept is not None and data is None:
            return kept
        if data is None:
            raise _NoAnswer("an empty answer")
        if "etag" in answered:
            self._cache.put(key, answered, data)
        return answered, data

    def _ask(
        self,
        method: str,
        url: str,
        params: Mapping[str, str | int],
        headers: dict[str, str],
        body: Json | None = None,
    ) -> tuple[Mapping[str, str], Any]:
        """The headers and the data, None where there is none. Raises PyGithub's error where GitHub
        refuses, and `_NoAnswer`."""
        try:
            answered, data = self._requester.requestJsonAndCheck(
                method, url, dict(params), headers, body
            )
        except (ValueError, RuntimeError) as error:
            # The half of an answer; a limit in no numbers; a redirection to another host.
            raise _NoAnswer(type(error).__name__) from None
        if data is not None and "json" not in answered.get("content-type", ""):
            raise _NoAnswer("an answer that is no JSON")
        return answered, data


def _listed(data: Any) -> list[Any]:
    """The items of a list. Raises `GitHubError` where it is none."""
    if not isinstance(data, list):
        raise GitHubError(0, "an answer that is no list")
    return data


def _wait(error: GithubException, attempt: int, again: bool) -> float | None:
    """Seconds to wait before the request is sent again; None where it is not."""
    if error.status in (403, 429):
        return _limit_wait(error, attempt)
    if error.status >= 500 and again:
        return float(2 ** (attempt - 1))
    return None


def _limit_wait(error: GithubException, attempt: int) -> float | None:
    """How long GitHub wants us to wait; None where its refusal is no limit."""
    headers = _lower(error.headers)
    if "retry-after" in headers:
        return retry_after(headers["retry-after"])
    if headers.get("x-ratelimit-remaining") == "0":
        return _until(headers.get("x-ratelimit-reset", "0"), clock_error(headers))
    if "secondary rate limit" in _message(error).lower():
        return UNTOLD_WAIT * attempt
    return None


def _until(reset: str, behind: float) -> float:
    """The seconds until a limit's end, which is in seconds since 1970 on GitHub's clock; ours is so
    much `behind`."""
    left = float(reset) - time.time() - behind
    return min(max(0.0, left), _LONGEST_WAIT) + 1.0


def clock_error(headers: Mapping[str, str]) -> float:
    """Seconds that our clock is behind GitHub's by an answer's headers; 0 where none says."""
    try:
        return parsedate_to_datetime(headers["date"]).timestamp() - time.time()
    except (KeyError, ValueError, OverflowError):
        return 0.0


def _lower(headers: Mapping[str, str] | None) -> dict[str, str]:
    return {name.lower(): value for name, value in (headers or {}).items()}


def retry_after(text: str) -> float:
    """The seconds that `Retry-After` asks for: it is a number or a date, and a proxy may write
    anything."""
    try:
        return min(max(0.0, float(text)), _LONGEST_WAIT)
    except ValueError:
        pass
    try:
        wait = parsedate_to_datetime(text).timestamp() - time.time()
        return min(max(0.0, wait), _LONGEST_WAIT)
    except (ValueError, OverflowError):
        return UNTOLD_WAIT


def _own_error(error: GithubException, method: str, again: bool, wait: float | None) -> GitHubError:
    """PyGithub's error as one of ours."""
    message = f"{method}: {_message(error)}"
    if error.status >= 500:
        kind = GitHubError if again else UncertainWrite
        return kind(error.status, message)
    if wait is None:
        return GitHubError(error.status, message)
    return RateLimited(error.status, message, wait)


def _message(error: GithubException) -> str:
    data = error.data
    if not isinstance(data, dict):
        return str(data)
    parts = [str(data.get("message", ""))]
    for detail in data.get("errors") or []:
        parts.append(detail if isinstance(detail, str) else str(detail.get("message", detail)))
    return ": ".join(parts)
