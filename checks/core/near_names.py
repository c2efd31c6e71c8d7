"""Names that look like the one that was meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

# Below it two names have little more than letters in common.
_LEAST_LIKENESS = 0.6
# What has a shorter word in it was hardly meant by it.
_SHORTEST_PART = 3


def near_names(word: str, known: Iterable[str], most: int = 5) -> list[str]:
    """At most `most` of `known`, the likest first: by the letters, then those that have the word in
    them. Case counts for nothing, nor do the dashes of options."""
    by_letters: dict[str, str] = {}
    for name in known:
        # Of names that differ in case alone the first one counts.
        by_letters.setdefault(_letters(name), name)
    wanted = _letters(word)
    near = difflib.get_close_matches(wanted, by_letters, most, _LEAST_LIKENESS)
    if len(wanted) >= _SHORTEST_PART:
        near += [letters for letters in by_letters if wanted in letters]
    return [by_letters[letters] for letters in dict.fromkeys(near)][:most]


def nearest_name(word: str, known: Iterable[str]) -> str:
    """The one that looks most like `word`; empty where none does."""
    return next(iter(near_names(word, known, 1)), "")


def _letters(name: str) -> str:
    return name.lower().strip("-")
