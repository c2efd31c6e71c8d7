"""Text for an author to paste, as the convention rules propose it."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from bot.style import Markdown, one_line
from bot.words import Words
from checks.convention.proposal import Paste


class _Pasted(Markdown):
    """Markdown of a description: it stands in no table, so a code span may hold a pipe as it is."""

    def code(self, text: str) -> str:
        shown = one_line(text)
        ticks = "`" * (max((len(run) for run in re.findall(r"`+", shown)), default=0) + 1)
        pad = " " if shown.startswith("`") or shown.endswith("`") else ""
        return f"{ticks}{pad}{shown}{pad}{ticks}"


def pasted(value: Any, words: Words) -> str:
    """`value`, a text or a `Paste`, in the language of `words`, to be shown with nothing escaped."""
    if not isinstance(value, Paste):
        return str(value)
    say = Words(words.language, _Pasted())
    return value.text(partial(say.message, "convention"))
