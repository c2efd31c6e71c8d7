"""Claims that belong together, because they share symbols or stand in the same hunks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from checks.summary.hunk_words import HunkWords
from checks.summary.model import Claim

# A symbol of more claims than this ties everything to everything: `__init__`, an engine-wide name.
_MOST_CLAIMS_OF_A_SYMBOL = 6
# As many as a reader can still see as one step.
_MOST_IN_A_GROUP = 12


def group_claims(claims: Sequence[Claim], hunks: Sequence[HunkWords]) -> list[list[Claim]]:
    """`claims` in groups, joined along the closest ties first until a group is full."""
    parent = list(range(len(claims)))
    size = [1] * len(claims)

    def root(index: int) -> int:
        while parent[index] != index:
            index = parent[index]
        return index

    for _, i, j in _ties(claims, hunks):
        first, second = sorted((root(i), root(j)))
        if first != second and size[first] + size[second] <= _MOST_IN_A_GROUP:
            parent[second] = first
            size[first] += size[second]
    groups: dict[int, list[Claim]] = {}
    for index, claim in enumerate(claims):
        groups.setdefault(root(index), []).append(claim)
    return list(groups.values())


def _ties(claims: Sequence[Claim], hunks: Sequence[HunkWords]) -> list[tuple[float, int, int]]:
    """(minus the closeness, one claim, another) of every two that have something in common.

    A symbol that only two claims share says more than one of five.
    """
    counts: Counter[str] = Counter()
    for claim in claims:
        counts.update(set(claim.symbols))
    hunks_of = [_hunks_of(claim, hunks) for claim in claims]
    ties = []
    for j, claim in enumerate(claims):
        for i in range(j):
            closeness = float(_stand_together(hunks_of[j], hunks_of[i]))
            shared = _shared_symbols(claim, claims[i])
            closeness += sum(1 / counts[s] for s in shared if counts[s] <= _MOST_CLAIMS_OF_A_SYMBOL)
            if closeness:
                ties.append((-closeness, i, j))
    return sorted(ties)


def _shared_symbols(a: Claim, b: Claim) -> set[str]:
    """The symbols of both. A plain name that stands for methods of two classes is none."""
    shared = set(a.symbols) & set(b.symbols)
    return {name for name in shared if not _means_different_methods(name, a, b)}


def _means_different_methods(name: str, a: Claim, b: Claim) -> bool:
    first, second = _qualified(name, a), _qualified(name, b)
    if not first or not second:
        return False
    return not first & second


def _qualified(name: str, claim: Claim) -> set[str]:
    """The claim's symbols that end with `name` behind a class or namespace."""
    return {symbol for symbol in claim.symbols if symbol.endswith((f".{name}", f"::{name}"))}


def _hunks_of(claim: Claim, hunks: Sequence[HunkWords]) -> set[int]:
    """The numbers of the hunks in which the claim has a place."""
    return {number for number, hunk in enumerate(hunks) if hunk.count_places(claim)}


def _stand_together(a: set[int], b: set[int]) -> bool:
    """Whether two claims share most hunks of the smaller one, and a third of all their hunks."""
    if not a or not b:
        return False
    both = len(a & b)
    return both * 2 > min(len(a), len(b)) and both * 3 >= len(a | b)
