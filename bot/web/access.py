"""Who may see a page: everybody what is public; of private repositories those whom GitHub lets read them.

People sign in with the App's OAuth. A session lives in this process alone and is never written down: the cookie holds
a random name for it, and GitHub is asked with the person's own token, again after five minutes.
"""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass, field
from urllib.parse import urlencode

import httpx
from pydantic import SecretStr
from starlette.requests import Request

COOKIE = "specbot_session"
_LIVES = 8 * 3600.0
_ASKED_AGAIN = 300.0
_MOST_SESSIONS = 10_000


@dataclass(frozen=True, slots=True)
class OAuth:
    """The App's client, and where GitHub is."""

    client_id: str
    client_secret: SecretStr
    server_url: str
    api_url: str


@dataclass
class _Session:
    token: str
    until: float
    login: str
    answers: dict[str, tuple[float, bool]] = field(default_factory=dict)


class Access:
    """Sessions, and what each may read. Without `oauth` nobody can sign in, and private pages are nobody's."""

    def __init__(self, oauth: OAuth | None) -> None:
        self.oauth = oauth
        self._sessions: dict[str, _Session] = {}
        self._begun: dict[str, tuple[float, str]] = {}

    def begin(self, back: str) -> str:
        """The address where a person signs in; they come back to the path `back`."""
        assert self.oauth is not None
        state = secrets.token_urlsafe(24)
        now = time.monotonic()
        self._begun = {s: b for s, b in self._begun.items() if b[0] > now - 600}
        self._begun[state] = (
            now,
            back if back.startswith("/") and not back.startswith("//") else "/",
        )
        query = urlencode({"client_id": self.oauth.client_id, "state": state})
        return f"{self.oauth.server_url}/login/oauth/authorize?{query}"

    async def finish(self, state: str, code: str) -> tuple[str, str] | None:
        """The new session's name and where to go, None where the answer is none that we asked for."""
        begun = self._begun.pop(state, None)
        if self.oauth is None or begun is None or not code:
            return None
        given = {
            "client_id": self.oauth.client_id,
            "client_secret": self.oauth.client_secret.get_secret_value(),
            "code": code,
        }
        async with httpx.AsyncClient(timeout=10) as client:
            address = f"{self.oauth.server_url}/login/oauth/access_token"
            answer = await client.post(address, data=given, headers={"Accept": "application/json"})
            token = answer.json().get("access_token") if answer.status_code == 200 else None
            if not token:
                return None
            who = await client.get(f"{self.oauth.api_url}/user", headers=_headers(token))
        if who.status_code != 200:
            return None
        name = secrets.token_urlsafe(32)
        if len(self._sessions) >= _MOST_SESSIONS:
            self._forget()
        self._sessions[name] = _Session(
            token, time.monotonic() + _LIVES, str(who.json().get("login", ""))
        )
        return name, begun[1]

    def end(self, request: Request) -> None:
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
        asked, answer = session.answers.get(repository, (0.0, False))
        if time.monotonic() - asked > _ASKED_AGAIN or not asked:
            async with httpx.AsyncClient(timeout=10) as client:
                reply = await client.get(
                    f"{self.oauth.api_url}/repos/{repository}", headers=_headers(session.token)
                )
            answer = reply.status_code == 200
            session.answers[repository] = (time.monotonic(), answer)
        return answer

    def readable(self, request: Request) -> tuple[str, ...]:
        """Private repositories that the person was found to be let read, lately."""
        session = self._session(request)
        since = time.monotonic() - _ASKED_AGAIN
        return (
            tuple(n for n, (at, answer) in session.answers.items() if answer and at > since)
            if session
            else ()
        )

    def _session(self, request: Request) -> _Session | None:
        session = self._sessions.get(request.cookies.get(COOKIE, ""))
        return session if session is not None and session.until > time.monotonic() else None

    def _forget(self) -> None:
        now = time.monotonic()
        self._sessions = {n: s for n, s in self._sessions.items() if s.until > now}
        for name in list(self._sessions)[: max(0, len(self._sessions) - _MOST_SESSIONS + 1)]:
            del self._sessions[name]


def _headers(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}", "Accept": "application/vnd.github+json"}
