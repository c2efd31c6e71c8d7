"""Who may see a page: everybody sees what is public, and a private repository is seen by those whom
GitHub lets read it.

People sign in with the App's OAuth. A session lives in this process alone and is never written
down: the cookie holds a random name for it, and GitHub is asked with the person's own token, again
after a minute.
"""

from __future__ import annotations

import base64
import hashlib
import secrets
import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import httpx
from starlette.requests import Request

from bot.github.app import OAuth

COOKIE = "specbot_session"
STATE_COOKIE = "specbot_sign_in"
# Seconds.
_LIVES = 8 * 3600.0
_ASKED_AGAIN = 60.0
_SIGN_IN_LASTS = 600.0
_MOST_SESSIONS = 10_000
_MOST_BEGUN = 10_000


@dataclass
class _Session:
    token: str
    until: float
    login: str
    answers: dict[str, tuple[float, bool]] = field(default_factory=dict)


@dataclass(frozen=True)
class _SignIn:
    """A sign-in on its way: when it began, where it leads, and two secrets. `browser` is in a
    cookie of the browser that began it; GitHub knows a digest of `verifier`."""

    at: float
    back: str
    browser: str
    verifier: str


class Access:
    """Sessions, and what each may read. Without `oauth` nobody can sign in, and private pages are
    nobody's."""

    def __init__(self, oauth: OAuth | None) -> None:
        self.oauth = oauth
        self._sessions: dict[str, _Session] = {}
        self._begun: dict[str, _SignIn] = {}

    def begin(self, back: str) -> tuple[str, str]:
        """The address where a person signs in, and what their browser keeps until they come back to
        the path `back`: nobody else's browser can finish what this one began."""
        assert self.oauth is not None
        # An address of another host (`//evil.example`) is no path of ours.
        is_path = back.startswith("/") and not back.startswith("//")
        state = secrets.token_urlsafe(24)
        now = time.monotonic()
        recent = {
            known: begun for known, begun in self._begun.items() if begun.at > now - _SIGN_IN_LASTS
        }
        browser, verifier = secrets.token_urlsafe(24), secrets.token_urlsafe(48)
        while len(recent) >= _MOST_BEGUN:
            del recent[next(iter(recent))]
        signing_in = _SignIn(now, back if is_path else "/", browser, verifier)
        self._begun = recent | {state: signing_in}
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest())
        query = urlencode(
            {
                "client_id": self.oauth.client_id,
                "state": state,
                "code_challenge": challenge.rstrip(b"=").decode(),
                "code_challenge_method": "S256",
            }
        )
        return f"{self.oauth.server_url}/login/oauth/authorize?{query}", browser

    async def finish(self, request: Request) -> tuple[str, str] | None:
        """The new session's name and where to go, None where the answer is none that this browser
        asked for. A session that it had before ends."""
        params = request.query_params
        code, browser = params.get("code", ""), request.cookies.get(STATE_COOKIE, "")
        begun = self._begun.pop(params.get("state", ""), None)
        if self.oauth is None or begun is None or not code:
            return None
        if not secrets.compare_digest(begun.browser.encode(), browser.encode("utf-8", "replace")):
            return None
        try:
            person = await _exchange_code(self.oauth, code, begun.verifier)
        except (httpx.HTTPError, ValueError):
            # GitHub is away, or what answers is not GitHub.
            return None
        if person is None:
            return None
        token, login = person
        self.end(request)
        name = secrets.token_urlsafe(32)
        if len(self._sessions) >= _MOST_SESSIONS:
            self._forget()
        self._sessions[name] = _Session(token, time.monotonic() + _LIVES, login)
        return name, begun.back

    def end(self, request: Request) -> None:
        """Forget the session of who asks."""
        self._sessions.pop(request.cookies.get(COOKIE, ""), None)

    def who(self, request: Request) -> str:
        """The login of who asks, empty for a stranger."""
        session = self._session(request)
        return session.login if session else ""

    async def may_read(self, request: Request, repository: str) -> bool:
        """Whether GitHub lets the person read a private repository."""
        session = self._session(request)
        if session is None or self.oauth is None:
            return False
        known = session.answers.get(repository)
        if known is not None:
            asked, answer = known
            if time.monotonic() - asked <= _ASKED_AGAIN:
                return answer
        url = f"{self.oauth.api_url}/repos/{repository}"
        try:
            async with httpx.AsyncClient(timeout=10) as client:
                reply = await client.get(url, headers=_headers(session.token))
        except httpx.HTTPError:
            return False
        answer = reply.status_code == 200
        session.answers[repository] = (time.monotonic(), answer)
        return answer

    def readable(self, request: Request) -> tuple[str, ...]:
        """Private repositories that the person was found to be let read, lately."""
        session = self._session(request)
        if session is None:
            return ()
        since = time.monotonic() - _ASKED_AGAIN
        return tuple(
            name for name, (asked, answer) in session.answers.items() if answer and asked > since
        )

    def _session(self, request: Request) -> _Session | None:
        session = self._sessions.get(request.cookies.get(COOKIE, ""))
        if session is None or session.until <= time.monotonic():
            return None
        return session

    def _forget(self) -> None:
        """Make room for one session: those that are over go, then the oldest."""
        now = time.monotonic()
        self._sessions = {
            name: session for name, session in self._sessions.items() if session.until > now
        }
        excess = len(self._sessions) - _MOST_SESSIONS + 1
        if excess > 0:
            for name in list(self._sessions)[:excess]:
                del self._sessions[name]


async def _exchange_code(oauth: OAuth, code: str, verifier: str) -> tuple[str, str] | None:
    """The person's token and login, None where GitHub does not know the code."""
    form = {
        "client_id": oauth.client_id,
        "client_secret": oauth.client_secret.get_secret_value(),
        "code": code,
        "code_verifier": verifier,
    }
    async with httpx.AsyncClient(timeout=10) as client:
        url = f"{oauth.server_url}/login/oauth/access_token"
        answer = await client.post(url, data=form, headers={"Accept": "application/json"})
        if answer.status_code != 200:
            return None
        token = _object(answer).get("access_token")
        if not token:
            return None
        user = await client.get(f"{oauth.api_url}/user", headers=_headers(token))
    if user.status_code != 200:
        return None
    return str(token), str(_object(user).get("login", ""))


def _object(answer: httpx.Response) -> dict[str, Any]:
    """Raises `ValueError` where the answer is no object in JSON."""
    data = answer.json()
    if not isinstance(data, dict):
        raise ValueError("no object")
    return data


def _headers(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}", "Accept": "application/vnd.github+json"}
