"""The few claims and names that the page shows first."""

from __future__ import annotations

from collections.abc import Sequence

from checks.summary.merge_identical import merge_identical
from checks.summary.model import Claim

_MOST_CLAIMS = 4
_MOST_SYMBOLS = 8

# Message keys of claims, the ones that explain most of a change first. A claim with another key
# never opens the page while there is one of these.
_SUMMARY_ORDER = (
    "split",
    "moved",
    "files-moved",
    "op-added",
    "op-removed",
    "op-replaced",
    "op-changed",
    "extracted",
    "carried",
    "setting-changed",
    "replaced",
    "class-added",
    "classes-added",
    "dropped",
    "first-calls",
    "condition",
    "condition-part",
    "unpacked",
    "assigned",
    "loop",
    "branches",
    "function-replaced",
    "function-removed",
    "function-added",
    "functions-added",
    "functions-removed",
    "parameter-replaced",
    "parameter-optional",
    "signature",
    "override",
    "narrowed",
    "exit",
    "setting-added",
    "keys",
    "calls",
    "state",
    "passed",
    "repeated",
    "set-local",
    "file-renamed",
    "tests-added",
)
_RANK = {key: rank for rank, key in enumerate(_SUMMARY_ORDER)}


def summary_claims(claims: Sequence[Claim]) -> tuple[Claim, ...]:
    """At most four claims that say what the change is; the first claim where none of them does."""
    ranked = sorted(_explaining(claims), key=lambda claim: _RANK[claim.message.key])
    return merge_identical(ranked)[:_MOST_CLAIMS] or tuple(claims[:1])


def key_symbols(claims: Sequence[Claim]) -> tuple[str, ...]:
    """At most eight names that the explaining claims are about, without their classes."""
    names: dict[str, None] = {}
    for claim in _explaining(claims):
        for symbol in claim.symbols:
            names[symbol.rsplit(".", 1)[-1]] = None
    return tuple(names)[:_MOST_SYMBOLS]


def _explaining(claims: Sequence[Claim]) -> list[Claim]:
    return [claim for claim in claims if claim.message.key in _RANK]
