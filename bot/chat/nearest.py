"""Names that look like the one that was meant."""

from __future__ import annotations

import difflib
from collections.abc import Sequence


def nearest(word: str, known: Sequence[str], most: int = 5) -> list[str]:
    """At most `most` of `known`, the likest first: by the letters, then those that have the word in them."""
    lower = {name.lower(): name for name in reversed(known)}
    near = [lower[name] for name in difflib.get_close_matches(word.lower(), lower, most, 0.4)]
    within = [name for name in known if word and word.lower() in name.lower()]
    return list(dict.fromkeys([*near, *within]))[:most]
