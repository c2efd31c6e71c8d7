"""What strangers name, as PostgreSQL takes it: their jobs have names of any length."""

from __future__ import annotations

import hashlib

_LONGEST = 255
_DIGEST = 64


def stored_name(name: str) -> str:
    """The name, or where it is longer than a column its beginning and a digest of the whole."""
    text = stored_text(name)
    if len(text) <= _LONGEST:
        return text
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]
    return text[: _LONGEST - _DIGEST] + digest


def stored_text(text: str) -> str:
    """The text with a sign in place of what is none in PostgreSQL."""
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode()
