"""One sentence for claims that say the same of several places."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from checks.summary.model import Claim

# The sentences of these claims name the file; all others read the same in every file.
_KEYS_NAMING_THE_FILE = frozenset({"binding-repeated", "constant-removed"})


def merge_identical(claims: Iterable[Claim]) -> tuple[Claim, ...]:
    """`claims` in order; those with the same sentence become one, at the place of the first."""
    merged: dict[str, Claim] = {}
    for claim in claims:
        sentence = _sentence_of(claim)
        first = merged.get(sentence)
        if first is None:
            merged[sentence] = claim
        else:
            merged[sentence] = replace(first, places=(*first.places, *claim.places))
    return tuple(merged.values())


def _sentence_of(claim: Claim) -> str:
    """A text that is equal for claims whose printed sentence is equal."""
    key = claim.message.key
    args = dict(claim.message.args)
    if key not in _KEYS_NAMING_THE_FILE:
        args.pop("path", None)
    return repr((key, args))
