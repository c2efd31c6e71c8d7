"""A change cut into steps that belong together; every hunk goes to one step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from checks.core.change import ChangeSet
from checks.summary.claim_groups import group_claims
from checks.summary.hunk_words import HunkWords, read_hunks
from checks.summary.model import ChangeStep, Claim

# How much a hunk belongs to a group for a claim made on its lines, for its function, for its words.
_CLAIM_WEIGHT, _FUNCTION_WEIGHT, _WORD_WEIGHT = 9, 4, 1
_MOST_WORDS_COUNTED = 8


@dataclass
class _StepGroup:
    """Claims that make one step, and the hunks that were given to it."""

    claims: list[Claim] = field(default_factory=list)
    symbols: tuple[str, ...] = ()
    hunks: list[HunkWords] = field(default_factory=list)


def group_into_steps(change: ChangeSet, claims: Sequence[Claim]) -> tuple[ChangeStep, ...]:
    """The steps, the largest first, then those of tests alone and those of layout.

    Hunks that no claim explains make the last step, which has no claims.
    """
    hunks = read_hunks(change)
    groups = [_StepGroup(group, _symbols_of(group)) for group in group_claims(claims, hunks)]
    unexplained = _StepGroup()
    for hunk in hunks:
        group = _best_group(hunk, groups) or unexplained
        group.hunks.append(hunk)
    steps = [_step(group) for group in groups if group.hunks or _is_about_files(group)]
    steps.sort(key=lambda step: (_lateness(step), -(step.added + step.removed), step.name))
    if unexplained.hunks:
        steps.append(_step(unexplained))
    return tuple(steps)


def _is_about_files(group: _StepGroup) -> bool:
    """Whether its claims are about whole files, such as another name: there may be no hunk."""
    return all(not place.start_line for claim in group.claims for place in claim.places)


def _symbols_of(claims: Sequence[Claim]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(symbol for claim in claims for symbol in claim.symbols))


def _lateness(step: ChangeStep) -> int:
    """What a reader can leave for later: 1 for test cases alone, 2 for layout alone, else 0."""
    keys = {claim.message.key for claim in step.claims}
    if keys == {"layout"}:
        return 2
    if keys <= {"tests-added", "tests-removed"}:
        return 1
    return 0


def _step(group: _StepGroup) -> ChangeStep:
    return ChangeStep(
        name=_name(group),
        claims=tuple(group.claims),
        files=tuple(sorted({hunk.path for hunk in group.hunks})),
        symbols=group.symbols,
        added=sum(hunk.hunk.head_len for hunk in group.hunks),
        removed=sum(hunk.hunk.base_len for hunk in group.hunks),
    )


def _name(group: _StepGroup) -> str:
    """The first symbol of the first claim that stands in the group's own lines or functions."""
    symbols = group.symbols
    for claim in group.claims:
        if _is_at_home(claim, group.hunks):
            symbols = claim.symbols
            break
    return symbols[0] if symbols else ""


def _is_at_home(claim: Claim, hunks: Sequence[HunkWords]) -> bool:
    for hunk in hunks:
        if hunk.functions.intersection(claim.symbols) or hunk.count_places(claim):
            return True
    return False


def _best_group(hunk: HunkWords, groups: Sequence[_StepGroup]) -> _StepGroup | None:
    """The group that the hunk belongs to most, the first of equals; None where no group fits."""
    best, best_rank = None, (0, 0)
    for group in groups:
        score = _score(hunk, group)
        if score:
            # Of two groups with one score, the longer name means this very function.
            named = hunk.functions.intersection(group.symbols)
            rank = (score, max(map(len, named), default=0))
            if rank > best_rank:
                best, best_rank = group, rank
    return best


def _score(hunk: HunkWords, group: _StepGroup) -> int:
    """How strongly a hunk belongs to a group: by claims on its lines, its function, its words."""
    claims = sum(hunk.count_places(claim) for claim in group.claims)
    functions = len(hunk.functions.intersection(group.symbols))
    words = sum(hunk.words[symbol.rsplit(".", 1)[-1]] for symbol in group.symbols)
    words = min(words, _MOST_WORDS_COUNTED)
    return _CLAIM_WEIGHT * claims + _FUNCTION_WEIGHT * functions + _WORD_WEIGHT * words
