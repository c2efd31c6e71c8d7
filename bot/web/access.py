"""Who may see a page: everybody sees what is public, and a private repository is seen by those whom
GitHub lets read it.

People sign in with the App's OAuth. Every process of the web side knows the sessions; the cookie
holds a random name for one, and GitHub is asked with the person's own token, again after a minute.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import time
from typing import Any
from urllib.parse import urlencode

import httpx
from cryptography.fernet import InvalidToken
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from bot.db.repositories import KnownRepository, Repositories
from bot.db.sessions import Person, Sessions, seal, unseal
from bot.github.app import OAuth

COOKIE = "specbot_session"
STATE_COOKIE = "specbot_sign_in"
# Seconds.
_LIVES = 8 * 3600.0
_ASKED_AGAIN = 60.0
_MOST_ANSWERS = 10_000


class Access:
    """Sessions, and what each may read. Without `oauth` nobody can sign in, and private pages are
    nobody's."""

    def __init__(self, oauth: OAuth | None, sessions: Sessions, repositories: Repositories) -> None:
        self.oauth = oauth
        self._sessions = sessions
        self._repositories = repositories
        # What GitHub said of (token, repository), and when.
        self._answers: dict[tuple[str, str], tuple[float, bool]] = {}

    def begin(self, back: str) -> tuple[str, str]:
        """The address where a person signs in, and what their browser keeps until they come back to
        the path `back`: nobody else's browser can finish what this one began.

        What is kept is sealed, so that any process can finish it. GitHub takes the code of a
        sign-in once, and for ten minutes.
        """
        assert self.oauth is not None
        # An address of another host (`//evil.example`) is no path of ours.
        is_path = back.startswith("/") and not back.startswith("//")
        state, verifier = secrets.token_urlsafe(24), secrets.token_urlsafe(48)
        begun = {"state": state, "verifier": verifier, "back": back if is_path else "/"}
        kept = seal(self.oauth.client_secret.get_secret_value(), json.dumps(begun))
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest())
        query = urlencode(
            {
                "client_id": self.oauth.client_id,
                "state": state,
                "code_challenge": challenge.rstrip(b"=").decode(),
                "code_challenge_method": "S256",
            }
        )
        return f"{self.oauth.server_url}/login/oauth/authorize?{query}", kept

    async def finish(self, request: Request) -> tuple[str, str] | None:
        """The new session's name and where to go, None where the answer is none that this browser
        asked for. A session that it had before ends."""
        code, state = (request.query_params.get(name, "") for name in ("code", "state"))
        begun = self._begun(request)
        if self.oauth is None or begun is None or not code:
            return None
        if not secrets.compare_digest(begun["state"].encode(), state.encode("utf-8", "replace")):
            return None
        try:
            person = await _exchange_code(self.oauth, code, begun["verifier"])
        except (httpx.HTTPError, ValueError):
            # GitHub is away, or what answers is not GitHub.
            return None
        if person is None:
            return None
        await self.end(request)
        name = await run_in_threadpool(self._sessions.begin, person, _LIVES)
        return name, begun["back"]

    def _begun(self, request: Request) -> dict[str, str] | None:
        """The sign-in that this browser began."""
        if self.oauth is None:
            return None
        secret = self.oauth.client_secret.get_secret_value()
        try:
            begun: dict[str, str] = json.loads(
                unseal(secret, request.cookies.get(STATE_COOKIE, ""))
            )
        except (InvalidToken, UnicodeError):
            return None
        return begun

    async def end(self, request: Request) -> None:
        """Forget the session of who asks."""
        name = request.cookies.get(COOKIE, "")
        if name:
            await run_in_threadpool(self._sessions.end, name)

    async def recognise(self, request: Request) -> None:
        """Find out who asks, for what follows of this request."""
        name = request.cookies.get(COOKIE, "")
        found = await run_in_threadpool(self._sessions.find, name) if name else None
        request.state.person = found

    def who(self, request: Request) -> str:
        """The login of who asks, empty for a stranger."""
        person = _person(request)
        return person.login if person else ""

    async def may_read(self, request: Request, repository: str) -> bool:
        """Whether GitHub lets the person read a private repository."""
        person = _person(request)
        if person is None or self.oauth is None:
            return False
        key = (person.token, repository)
        known = self._answers.get(key)
        if known is not None:
            asked, answer = known
            if time.monotonic() - asked <= _ASKED_AGAIN:
                return answer
        url = f"{self.oauth.api_url}/repos/{repository}"
        try:
            async with httpx.AsyncClient(timeout=10) as client:
                reply = await client.get(url, headers=_headers(person.token))
        except httpx.HTTPError:
            return False
        kept = await run_in_threadpool(self._repositories.named, repository)
        answer = reply.status_code == 200 and _is_it(reply, kept)
        if len(self._answers) >= _MOST_ANSWERS:
            self._answers.clear()
        self._answers[key] = (time.monotonic(), answer)
        return answer

    def readable(self, request: Request) -> tuple[str, ...]:
        """Private repositories that the person was found to be let read, lately."""
        person = _person(request)
        if person is None:
            return ()
        since = time.monotonic() - _ASKED_AGAIN
        return tuple(
            repository
            for (token, repository), (asked, answer) in list(self._answers.items())
            if token == person.token and answer and asked > since
        )


def _person(request: Request) -> Person | None:
    person: Person | None = getattr(request.state, "person", None)
    return person


def _is_it(reply: httpx.Response, kept: KnownRepository | None) -> bool:
    """Whether GitHub speaks of the repository that something is kept of: somebody else may have
    taken its name since."""
    try:
        return kept is None or _object(reply).get("id") == kept.id
    except ValueError:
        return False


async def _exchange_code(oauth: OAuth, code: str, verifier: str) -> Person | None:
    """Who signed in, None where GitHub does not know the code."""
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
    return Person(str(_object(user).get("login", "")), str(token))


def _object(answer: httpx.Response) -> dict[str, Any]:
    """Raises `ValueError` where the answer is no object in JSON."""
    data = answer.json()
    if not isinstance(data, dict):
        raise ValueError("no object")
    return data


def _headers(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}", "Accept": "application/vnd.github+json"}
