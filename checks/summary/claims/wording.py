"""Arguments that the sentences of several kinds of claims have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from checks.lang.ir.source_file import Function
from checks.summary.claims.claim_locations import names_of

MOST_NAMED = 5
_MOST_NAMES = 8
# So many functions or classes of a file that came or went together are one sentence.
LEAST_TOGETHER = 4


def first_names(names: Sequence[str], most: int = _MOST_NAMES) -> dict[str, Any]:
    """The first `most` names, and how many more there are."""
    return {"names": list(names[:most]), "more": max(0, len(names) - most)}


def which_functions(functions: Sequence[Function]) -> dict[str, Any]:
    """Names and path for a sentence that holds for all of `functions`."""
    names = list(dict.fromkeys(function.qualname for function in functions))
    return {"names": names, "name": names[0], "path": functions[0].path}


def symbols_of_functions(functions: Sequence[Function]) -> tuple[str, ...]:
    """The names that stand for `functions`, each once."""
    symbols: dict[str, None] = {}
    for function in functions:
        symbols.update(dict.fromkeys(names_of(function)))
    return tuple(symbols)


def gained_and_lost(gained: Sequence[str], lost: Sequence[str]) -> dict[str, Any]:
    """What came and what went: the first five of each, and how many more there are."""
    return {
        "gained": list(gained[:MOST_NAMED]),
        "lost": list(lost[:MOST_NAMED]),
        "more_gained": max(0, len(gained) - MOST_NAMED),
        "more_lost": max(0, len(lost) - MOST_NAMED),
    }
