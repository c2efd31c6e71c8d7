"""The fake GitHub itself: its state, what happens on it, and the HTTP server in front of it."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

import jwt
import uvicorn
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.fake_github import state
from tests.fake_github.git import GitRepository

# What the App was granted when it was installed.
GRANTED = {
    "metadata": "read",
    "contents": "read",
    "pull_requests": "write",
    "issues": "write",
    "checks": "write",
    "statuses": "read",
    "actions": "write",
}


@dataclass(frozen=True)
class Answer:
    """What a handler, or a fault, answers with. `data` is JSON unless it is bytes."""

    status: int = 200
    data: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Fault:
    """Something that goes wrong with the next `times` requests that match."""

    method: str
    path: re.Pattern[str]
    when: Literal["before", "after"]
    do: Callable[[], Answer | None] | Answer | Literal["drop"] | float
    times: int


@dataclass(frozen=True)
class Seen:
    """A request that was answered."""

    method: str
    path: str
    operation: str
    body: bytes
    status: int
    token: str
    headers: Mapping[str, str]
    at: float = field(default_factory=time.monotonic)


class FakeGitHub:
    """One GitHub with one App.

    Tests change its state and read it, under `lock` where a bot runs at the same time.
    """

    def __init__(self, directory: Path, key: rsa.RSAPrivateKey | None = None) -> None:
        self.directory = directory
        self.lock = threading.RLock()
        self.use_key(key or _usual_key())
        self.app_id = 4242
        self.slug = "specbot"
        self.bot = state.User("specbot[bot]", "Bot")
        self.users: dict[str, state.User] = {}
        self.repositories: dict[str, state.Repository] = {}
        self.installations: list[state.Installation] = []
        self.tokens: dict[str, state.Token] = {}
        self.deliveries: list[state.Delivery] = []
        self.api_versions = ["2022-11-28", "2026-03-10"]
        # The version of GitHub Enterprise Server that this is; empty for dotcom.
        self.enterprise = ""
        self.requests: list[Seen] = []
        self.violations: list[str] = []
        self.faults: list[Fault] = []
        self.content_writes: list[float] = []
        # Of the requests of an hour, which all installations here have together.
        self.rate_limit = self.rate_remaining = 5000
        self.rate_reset = time.time() + 3600
        self.webhook_url = ""
        self.webhook_secret = "s3cret"
        self.webhook_config = {"content_type": "json", "secret": "********", "insecure_ssl": "0"}
        self.app_permissions = dict(GRANTED)
        self.app_events = ["pull_request", "issue_comment", "check_run", "check_suite", "status"]
        self.app_events += ["workflow_run", "workflow_job", "pull_request_review"]
        self.app_events += ["pull_request_review_comment", "pull_request_review_thread"]
        self.app_events += ["merge_group", "repository"]
        self.manifest_codes: set[str] = set()
        self.url = ""

    # People and repositories

    def user(self, login: str) -> state.User:
        """The user called `login`, made where there is none."""
        return self.users.setdefault(login, state.User(login))

    def repository(
        self, full_name: str, *, installed: bool = True, fork: bool = False
    ) -> state.Repository:
        """An empty repository, with the App installed on its owner."""
        owner, name = full_name.split("/")
        git = GitRepository(self.directory / owner / f"{name}.git")
        repo = state.Repository(self.user(owner), name, git, fork=fork)
        self.repositories[full_name] = repo
        if installed:
            self.install(repo)
        return repo

    def install(self, repo: state.Repository) -> None:
        """Give the repository to the App, which its owner installs where it is not."""
        found = next((i for i in self.installations if i.account is repo.owner), None)
        if found is None:
            found = state.Installation(repo.owner, dict(GRANTED), [])
            self.installations.append(found)
        found.repositories.append(repo)

    def uninstall(self, repo: state.Repository) -> None:
        """Take the repository from the App; an installation without any goes."""
        for one in self.installations:
            if repo in one.repositories:
                one.repositories.remove(repo)
        self.installations[:] = [one for one in self.installations if one.repositories]

    def installation_of(self, repo: state.Repository) -> state.Installation | None:
        return next((i for i in self.installations if repo in i.repositories), None)

    # Requests

    def use_key(self, key: rsa.RSAPrivateKey) -> None:
        """The App's key from now on; one before is refused."""
        pem = (
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        )
        self.private_key = key.private_bytes(*pem).decode()
        self._public_key = key.public_key()

    def fault(
        self,
        method: str,
        path: str,
        do: Callable[[], Answer | None] | Answer | Literal["drop"] | float,
        *,
        when: Literal["before", "after"] = "before",
        times: int = 1,
    ) -> Fault:
        """Let the next requests of `method` on a path that `path` finds go wrong.

        `do` is an answer instead of the real one, "drop" to cut the connection, seconds to wait, or
        something to call. `when` says whether the request has its effect first.
        """
        made = Fault(method, re.compile(path), when, do, times)
        with self.lock:
            self.faults.append(made)
        return made

    def take_fault(self, method: str, path: str, when: str) -> Fault | None:
        """The fault that strikes this request: the first that is left."""
        with self.lock:
            for fault in self.faults:
                if (
                    fault.times
                    and (fault.method, fault.when) == (method, when)
                    and fault.path.search(path)
                ):
                    fault.times -= 1
                    return fault
            return None

    def secondary_limit(
        self, method: str, path: str, *, retry_after: int = 1, times: int = 1
    ) -> None:
        """Answer as GitHub does to who writes too quickly."""
        self.fault(method, path, secondary(retry_after), times=times)

    def asked(self, operation: str) -> list[Seen]:
        """The requests of `operation` so far."""
        return [r for r in self.requests if r.operation == operation]

    def app_of(self, token: str) -> bool:
        """Whether `token` is a JWT that the App's key signed and that GitHub would take."""
        try:
            claims = jwt.decode(
                token,
                self._public_key,
                algorithms=["RS256"],
                options={"require": ["exp", "iat", "iss"]},
            )
        except jwt.InvalidTokenError:
            return False
        return str(claims["iss"]) == str(self.app_id) and claims["exp"] - claims["iat"] <= 660

    def token(self, value: str) -> state.Token | None:
        found = self.tokens.get(value)
        return found if found and found.expires_at > time.time() else None


def secondary(retry_after: int) -> Answer:
    return Answer(
        403,
        {
            "message": "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.",
            "documentation_url": "https://docs.github.com/rest/overview/rate-limits-for-the-rest-api",
        },
        {"retry-after": str(retry_after)},
    )


def new_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@cache
def _usual_key() -> rsa.RSAPrivateKey:
    """One for all tests: making a key takes longer than most of them."""
    return new_key()


@contextmanager
def serving(fake: FakeGitHub) -> Iterator[FakeGitHub]:
    """Serve `fake` on a port of its own at 127.0.0.1, over real sockets, as long as the `with`
    lasts."""
    from tests.fake_github.app import application

    listener = socket.create_server(("127.0.0.1", 0))
    fake.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    config = uvicorn.Config(
        application(fake),
        log_level="warning",
        lifespan="off",
        timeout_keep_alive=30,
        date_header=False,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    try:
        yield fake
    finally:
        server.should_exit = True
        thread.join(10)
        listener.close()
