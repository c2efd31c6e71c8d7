"""The GitHub App: its own key, and tokens of its installations that can do no more than the task at
hand."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

import jwt
from cryptography.hazmat.primitives import serialization
from github import Auth
from pydantic import SecretStr

from bot.github.client import UNPROCESSABLE, Cache, Client, GitHubError, clock_error
from bot.github.rate_limit import RateLimiter
from bot.urls import API, SERVER

# What each task needs. GitHub refuses the rest, whatever a bug of ours or a clever comment would
# make us ask for.
ANALYSE: Mapping[str, str] = {"contents": "read", "pull_requests": "read"}
PUBLISH: Mapping[str, str] = {"pull_requests": "write", "checks": "write"}
READ_CI: Mapping[str, str] = {
    "actions": "read",
    "checks": "read",
    "statuses": "read",
    "pull_requests": "read",
}
COMMENT: Mapping[str, str] = {"issues": "write", "pull_requests": "write"}
# A token that may only write to pull requests cannot resolve a conversation. An App that was not
# granted this folds its comments instead.
RESOLVE: Mapping[str, str] = {"contents": "write", "pull_requests": "write"}
RUN: Mapping[str, str] = {"actions": "write"}

# GitHub's tokens live an hour; a task that begins with one must be able to end with it.
_MARGIN = 600.0


@dataclass(frozen=True)
class Endpoint:
    """Where GitHub is: its API, and the server that git talks to.

    `gap` is the pause between writes, in seconds; `hourly` is how many writes an installation may
    have in an hour.
    """

    api: str = API
    server: str = SERVER
    gap: float = 1.0
    hourly: int = 400


@dataclass(frozen=True, slots=True)
class OAuth:
    """The App's OAuth client, by which people sign in, and where GitHub is."""

    client_id: str
    client_secret: SecretStr
    server_url: str
    api_url: str


@dataclass
class _Token:
    value: str = field(repr=False)
    expires_at: float


class App:
    """Makes clients. Safe to use from several threads.

    `pace` gives the pace of an installation, where one of this process alone is not enough. With
    `read_only` no token may write, whatever a task asks for.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        app_id: int,
        private_key: str,
        pace: Callable[[int], RateLimiter] | None = None,
        *,
        read_only: bool = False,
    ) -> None:
        self.endpoint = endpoint
        self._read_only = read_only
        self._new_pace = pace or (lambda _: RateLimiter(endpoint.gap, endpoint.hourly))
        self.id = app_id
        self._key = private_key
        self._lock = threading.Lock()
        self._tokens: dict[tuple[int, int | None, tuple[tuple[str, str], ...]], _Token] = {}
        self._paces: dict[int, RateLimiter] = {}
        self._cache = Cache()
        # Seconds that our clock was behind GitHub's when it last refused a token.
        self._clock_error = 0.0

    @cached_property
    def itself(self) -> Client:
        """The App's own client: tokens and installations."""
        return self._own_client()

    @cached_property
    def deliveries(self) -> Client:
        """The same for looking after deliveries. It has a pace of its own: where GitHub wants a
        pause of it, tokens do not wait."""
        return self._own_client()

    def _own_client(self) -> Client:
        # Reading a key proves its primes, a tenth of a second in which no other thread goes on, and
        # PyGithub would do it for every request.
        key = serialization.load_pem_private_key(self._key.encode(), None)

        def sign(claims: dict[str, Any]) -> str:
            ahead = int(self._clock_error)
            by_github = claims | {"iat": claims["iat"] + ahead, "exp": claims["exp"] + ahead}
            # GitHub's keys are RSA's.
            return jwt.encode(by_github, key, "RS256")  # type: ignore[arg-type]

        # 60 s into the past, because GitHub refuses a token of a clock that runs ahead.
        auth = Auth.AppAuth(self.id, sign_func=sign, jwt_issued_at=-60, jwt_expiry=300)
        pace = RateLimiter(self.endpoint.gap, self.endpoint.hourly)

        def renew(refusal: Mapping[str, str]) -> Auth.Auth:
            self._clock_error = clock_error(refusal)
            return auth

        return Client(self.endpoint.api, auth, pace, self._cache, renew=renew)

    def client(self, installation: int, repository: int, permissions: Mapping[str, str]) -> Client:
        """A client for one repository that may do what `permissions` say."""
        return self._client_with_token(installation, repository, permissions)

    def client_if_granted(
        self, installation: int, repository: int, permissions: Mapping[str, str]
    ) -> Client | None:
        """The same, or None where the installation was not granted as much."""
        try:
            return self.client(installation, repository, permissions)
        except GitHubError as error:
            if error.status != UNPROCESSABLE:
                raise
            return None

    def listing(self, installation: int) -> Client:
        """A client that may list the installation's repositories and nothing else."""
        return self._client_with_token(installation, None, {"metadata": "read"})

    def _client_with_token(
        self, installation: int, repository: int | None, permissions: Mapping[str, str]
    ) -> Client:
        token = self.token(installation, repository, permissions)

        def renew(_: Mapping[str, str]) -> Auth.Auth:
            self._forget(token)
            return Auth.Token(self.token(installation, repository, permissions))

        pace = self._pace(installation)
        return Client(self.endpoint.api, Auth.Token(token), pace, self._cache, renew=renew)

    def _pace(self, installation: int) -> RateLimiter:
        with self._lock:
            if installation not in self._paces:
                self._paces[installation] = self._new_pace(installation)
            return self._paces[installation]

    def token(
        self, installation: int, repository: int | None, permissions: Mapping[str, str]
    ) -> str:
        """An installation token for that, used again as long as it lives; for all its repositories
        where none is named."""
        key = (installation, repository, tuple(sorted(permissions.items())))
        with self._lock:
            token = self._tokens.get(key)
            now = time.time() + self._clock_error
            if token is None or token.expires_at < now + _MARGIN:
                token = self._new_token(installation, repository, permissions)
                self._tokens[key] = token
            return token.value

    def _forget(self, refused: str) -> None:
        """Use a token no longer that GitHub refused: it was taken back, or our clock is wrong."""
        with self._lock:
            kept = {key: token for key, token in self._tokens.items() if token.value != refused}
            self._tokens = kept

    def _new_token(
        self, installation: int, repository: int | None, permissions: Mapping[str, str]
    ) -> _Token:
        wanted = dict(permissions)
        if self._read_only:
            wanted = dict.fromkeys(permissions, "read")
        body: dict[str, Any] = {"permissions": wanted}
        if repository is not None:
            body["repository_ids"] = [repository]
        path = f"/app/installations/{installation}/access_tokens"
        answer = self.itself.post(path, body, key="token", pace=False)
        expires_at = datetime.fromisoformat(answer["expires_at"]).timestamp()
        return _Token(answer["token"], expires_at)
