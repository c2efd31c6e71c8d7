"""What holds in several places alike is said once, with all of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from checks.summary.model import Claim

# Claims whose sentence tells the file; that of the others is the same in every file.
_TELL_THE_FILE = frozenset({"binding-repeated", "constant-removed"})


def gathered(claims: Iterable[Claim]) -> tuple[Claim, ...]:
    """`claims` in order, those with the same sentence as one where the first of them stood."""
    found: dict[str, Claim] = {}
    for claim in claims:
        said = _said(claim)
        first = found.get(said)
        found[said] = (
            claim if first is None else replace(first, places=(*first.places, *claim.places))
        )
    return tuple(found.values())


def _said(claim: Claim) -> str:
    key, args = claim.message.key, claim.message.args
    return repr((key, [(k, v) for k, v in args.items() if k != "path" or key in _TELL_THE_FILE]))
