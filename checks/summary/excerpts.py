"""The two or three pieces of code that say most about a change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction, changed_functions
from checks.core.config import Config
from checks.core.finding import Location, Message, Side
from checks.summary.model import Claim, Excerpt, FileCard

_MOST_EXCERPTS = 3
_MOST_LINES = 44
_LEAST_ADDED = 3
_MOST_ADDED_COUNTED = 40
# Claims whose sentence is reason enough to read the function that it stands in.
_REASONS = frozenset({"split", "extracted", "carried", "moved", "function-replaced"})
# What a claim about a function adds to its rank; claims of other kinds add 2.
_WEIGHTS = {
    "op-replaced": 25,
    "split": 30,
    "extracted": 25,
    "carried": 25,
    "branches": 10,
    "op-added": 25,
    "op-changed": 8,
    "moved": 5,
}
_OTHER_WEIGHT = 2


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A changed function with the claims about it and the lines that the change wrote in it."""

    delta: ChangedFunction
    claims: list[Claim]
    added: set[int]
    rank: tuple[float, str, int]


def pick_excerpts(
    change: ChangeSet, config: Config, claims: Sequence[Claim], files: Sequence[FileCard]
) -> tuple[Excerpt, ...]:
    """The changed functions that most claims are about and that gained most lines, best first."""
    scores = {card.path: card.score for card in files}
    relaid = _places_of_same_code(claims)
    candidates = []
    for delta in changed_functions(change, config):
        place = (delta.head.path, delta.head.start_line)
        added = _added_lines(delta, change)
        if place in relaid or not added:
            continue
        about = [claim for claim in claims if _is_about(claim, delta)]
        worth = _worth(about, len(added), scores.get(delta.head.path, 0))
        candidates.append(_Candidate(delta, about, added, (-worth, *place)))
    candidates.sort(key=lambda candidate: candidate.rank)
    large = [candidate for candidate in candidates if len(candidate.added) >= _LEAST_ADDED]
    chosen = large or candidates[:1]
    told: list[Message] = []
    return tuple(_excerpt(candidate, told) for candidate in chosen[:_MOST_EXCERPTS])


def _places_of_same_code(claims: Sequence[Claim]) -> set[tuple[str, int]]:
    """(path, first line) of the functions in which only the layout changed, or the place."""
    places: set[tuple[str, int]] = set()
    for claim in claims:
        key, args = claim.message.key, claim.message.args
        if key == "layout" or (key == "moved" and args["unchanged"]):
            places.update((place.path, place.start_line) for place in claim.places)
    return places


def _worth(claims: Sequence[Claim], added: int, file_score: float) -> float:
    explained = sum(_WEIGHTS.get(claim.message.key, _OTHER_WEIGHT) for claim in claims)
    return min(added, _MOST_ADDED_COUNTED) + explained + 2 * file_score


def _is_about(claim: Claim, delta: ChangedFunction) -> bool:
    if _stands_in(claim, delta) or delta.head.qualname in claim.symbols:
        return True
    return delta.head.name == claim.message.args.get("name")


def _stands_in(claim: Claim, delta: ChangedFunction) -> bool:
    """Whether one of the claim's places is a line of the function as it is now."""
    for place in claim.places:
        if place.side is not Side.HEAD or place.path != delta.head.path:
            continue
        if delta.head.covers(place.start_line):
            return True
    return False


def _added_lines(delta: ChangedFunction, change: ChangeSet) -> set[int]:
    file = change.changed(delta.head.path)
    if file is None:
        return set()
    return {line for line in file.head_lines() if delta.head.covers(line)}


def _excerpt(candidate: _Candidate, told: list[Message]) -> Excerpt:
    delta, added = candidate.delta, candidate.added
    head = delta.head
    start, end = _window(head.start_line, head.end_line, added)
    return Excerpt(
        location=Location(head.path, start, end),
        symbol=head.qualname,
        reason=_reason(candidate, told),
        lines=tuple(delta.unit.text(start, end).split("\n")),
        changed=frozenset(line for line in added if start <= line <= end),
    )


def _reason(candidate: _Candidate, told: list[Message]) -> Message:
    """The sentence of a claim about the function that is not among `told`, to which it is added,
    else how much of the function the change wrote."""
    delta = candidate.delta
    for claim in candidate.claims:
        is_reason = claim.message.key in _REASONS and _stands_in(claim, delta)
        if is_reason and claim.message not in told:
            told.append(claim.message)
            return claim.message
    head = delta.head
    args = {
        "name": head.qualname,
        "lines": len(candidate.added),
        "of": head.end_line - head.start_line + 1,
    }
    if delta.base is None:
        return Message("excerpt-new", args)
    return Message("excerpt-changed", args)


def _window(start: int, end: int, changed: set[int]) -> tuple[int, int]:
    """The whole function, or the lines of it that hold most of what changed."""
    if end - start < _MOST_LINES:
        return start, end
    middle = sum(changed) / max(1, len(changed)) - _MOST_LINES / 2

    def rank(first: int) -> tuple[int, float, int]:
        held = len(changed.intersection(range(first, first + _MOST_LINES)))
        return held, -abs(first - middle), -first

    best = max(range(start, end - _MOST_LINES + 2), key=rank)
    return best, best + _MOST_LINES - 1
