"""Text for an author to paste, as the convention rules propose it."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

from bot.i18n.catalog import Catalog
from bot.i18n.escape import Markdown
from checks.domain.paste import Paste


def paste_text(value: Any, words: Catalog) -> str:
    """`value`, a text or a `Paste`, in the language of `words`, as Markdown that nothing more is
    escaped in.
    """
    if not isinstance(value, Paste):
        return str(value)
    return value.text(partial(_voice(words.language).message, "convention"))


@cache
def _voice(language: str) -> Catalog:
    return Catalog(language, Markdown())
