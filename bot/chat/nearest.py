"""Names that look like the one that was meant."""

from __future__ import annotations

import difflib
from collections.abc import Sequence


def nearest(word: str, known: Sequence[str], most: int = 5) -> list[str]:
    """At most `most` of `known`, the likest first: by the letters, then those that have the word in
    them."""
    # Reversed, so that of names that differ in case alone the first one counts.
    by_lower_case = {name.lower(): name for name in reversed(known)}
    similar = difflib.get_close_matches(word.lower(), by_lower_case, most, 0.4)
    names = [by_lower_case[lower] for lower in similar]
    if word:
        names += [name for name in known if word.lower() in name.lower()]
    return list(dict.fromkeys(names))[:most]
