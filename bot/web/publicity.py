"""Whether a repository is still public: GitHub is asked again with every view that is older than a
minute, for a webhook may be lost."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable

import structlog

from bot.db.repositories import KnownRepository, Repositories
from bot.github import Client, GitHubError
from bot.github.app import App
from bot.github.presence import is_hidden

_log = structlog.get_logger("specbot.web")
_METADATA = {"metadata": "read"}
# Seconds.
ASKED_AGAIN = 60.0
# Where GitHub does not answer, what it said last holds so long; it is asked again after a minute.
_HOLDS = 600.0


class Publicity:
    """Asks GitHub, and keeps each answer for a minute. Safe to use from several threads."""

    def __init__(self, app: App, repositories: Repositories, close: Callable[[str], None]) -> None:
        """`close` is told of what is public no more."""
        self._app = app
        self._repositories = repositories
        self._close = close
        self._lock = threading.Lock()
        self._public_at: dict[str, float] = {}
        self._silent_since: dict[str, float] = {}

    def is_public(self, name: str) -> bool:
        """Whether everybody may see the repository, as GitHub said within the last minute."""
        now = time.monotonic()
        with self._lock:
            said = self._public_at.get(name)
            silent = self._silent_since.get(name)
        if said is not None and now - said <= ASKED_AGAIN:
            return True
        holds = said is not None and now - said <= _HOLDS
        if silent is not None and now - silent <= ASKED_AGAIN:
            return holds
        try:
            public = self._ask(name)
        except GitHubError as error:
            _log.warning("nobody says who may see it", repository=name, error=str(error))
            with self._lock:
                self._silent_since[name] = time.monotonic()
            return holds
        with self._lock:
            if public:
                self._public_at[name] = now
            else:
                self._public_at.pop(name, None)
        if not public:
            self._close(name)
        return public

    def public(self, names: Iterable[str]) -> list[str]:
        """Those of `names` that everybody may see."""
        return [name for name in names if self.is_public(name)]

    def _ask(self, name: str) -> bool:
        known = self._repositories.named(name)
        try:
            found = self._client(name, known).get(f"/repos/{name}")
        except GitHubError as error:
            if is_hidden(error):
                return False
            raise
        # Under its old name GitHub leads to a repository that was renamed or moved, and somebody
        # else may have taken that name since.
        is_it = str(found["full_name"]) == name
        if known is not None:
            is_it = is_it and int(found["id"]) == known.id
        return is_it and not found["private"]

    def _client(self, name: str, known: KnownRepository | None) -> Client:
        """A client that may read what GitHub tells everybody who sees the repository."""
        if known is not None:
            return self._app.client(known.installation, known.id, _METADATA)
        found = self._app.itself.get(f"/repos/{name}/installation")
        return self._app.listing(int(found["id"]))
