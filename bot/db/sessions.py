"""Who is signed in to the pages, for every process of the web side.

A row says nothing by itself: it is sealed with the session's name, which the person's browser alone
has. The row's id is a digest of that name.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import time
from dataclasses import asdict, dataclass

import sqlalchemy as sa
from cryptography.fernet import Fernet

from bot.db.engine import create

_TABLES = sa.MetaData()
_SESSIONS = sa.Table(
    "specbot_sessions",
    _TABLES,
    sa.Column("id", sa.String(64), primary_key=True),
    sa.Column("sealed", sa.Text, nullable=False),
    sa.Column("until", sa.Float, nullable=False, index=True),
)
_MOST = 10_000


@dataclass(frozen=True)
class Person:
    """Who signed in, and the token with which GitHub is asked in their name."""

    login: str
    token: str


class Sessions:
    """The table. Safe to use from several threads."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        create(engine, _TABLES)

    def begin(self, person: Person, seconds: float) -> str:
        """The name of a new session of so many seconds. What is over goes, and the oldest where
        there are too many."""
        name, now = secrets.token_urlsafe(32), time.time()
        sealed = seal(name, json.dumps(asdict(person)))
        row = {"id": _digest(name), "sealed": sealed, "until": now + seconds}
        newest = sa.select(_SESSIONS.c.id).order_by(_SESSIONS.c.until.desc()).limit(_MOST)
        is_over = sa.or_(_SESSIONS.c.until <= now, _SESSIONS.c.id.not_in(newest))
        with self._engine.begin() as connection:
            connection.execute(_SESSIONS.insert().values(row))
            connection.execute(_SESSIONS.delete().where(is_over))
        return name

    def find(self, name: str) -> Person | None:
        """Whose session it is; None where it is none, or over."""
        query = sa.select(_SESSIONS.c.sealed)
        is_it = sa.and_(_SESSIONS.c.id == _digest(name), _SESSIONS.c.until > time.time())
        with self._engine.connect() as connection:
            sealed: str | None = connection.execute(query.where(is_it)).scalar()
        return Person(**json.loads(unseal(name, sealed))) if sealed else None

    def end(self, name: str) -> None:
        """Forget the session."""
        with self._engine.begin() as connection:
            connection.execute(_SESSIONS.delete().where(_SESSIONS.c.id == _digest(name)))


def seal(secret: str, text: str) -> str:
    """What `unseal` makes `text` of, and nobody else without the secret."""
    return _box(secret).encrypt(text.encode()).decode()


def unseal(secret: str, sealed: str) -> str:
    """Raises `cryptography.fernet.InvalidToken` where `seal` did not make it with this secret."""
    return _box(secret).decrypt(sealed.encode()).decode()


def _box(secret: str) -> Fernet:
    key = hashlib.sha256(b"specbot seal " + secret.encode("utf-8", "replace")).digest()
    return Fernet(base64.urlsafe_b64encode(key))


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()
