"""Which stale copies are told together, and at which of them."""

from __future__ import annotations

from typing import TypeAlias

from checks.core.finding import Confidence
from checks.domain.copies.alterations import Alteration
from checks.domain.copies.effects import EnumTest
from checks.domain.copies.stale_copy import StaleCopy
from checks.domain.copies.symbols import count_symbols

# What a change altered, whichever function it did it in.
Aspect: TypeAlias = tuple[object, ...]

# The most certain first.
_CONFIDENCES = list(Confidence)


def one_per_statement(copies: list[StaleCopy]) -> list[StaleCopy]:
    """The best copy of each statement of a sibling file, in source order.

    One statement may hold several (a call, and the value that the call is part of), and the changes
    of several runners may speak of the same one.
    """
    best: dict[tuple[int, int], StaleCopy] = {}
    for copy in copies:
        span = copy.effect.start, copy.effect.end
        if span not in best or _rank(copy) < _rank(best[span]):
            best[span] = copy
    return sorted(best.values(), key=lambda copy: copy.line)


def _rank(copy: StaleCopy) -> tuple[int, int, int]:
    """What is told of a statement first.

    The kind that says most, then what is most certain, then the smaller form.
    """
    form = copy.effect.form
    size = count_symbols(form) if not isinstance(form, EnumTest) else 0
    return _kind_rank(copy.alteration), _CONFIDENCES.index(copy.confidence), size


def _kind_rank(alteration: Alteration) -> int:
    if alteration.kind == "enum":
        return 0
    if alteration.added:
        return 1
    return 2 if alteration.kind == "call" else 3


def prominence(copy: StaleCopy) -> tuple[int, int, int]:
    """Which copy of a group its finding is reported at."""
    return _CONFIDENCES.index(copy.confidence), _kind_rank(copy.alteration), copy.line


def group_copies(copies: list[StaleCopy]) -> list[list[StaleCopy]]:
    """Copies of one changed aspect, or of one function, together; the most certain groups first."""
    groups: list[list[StaleCopy]] = []
    for copy in copies:
        group = next((g for g in groups if _belongs_to(copy, g)), None)
        if group is None:
            groups.append([copy])
        else:
            group.append(copy)

    def certainty(group: list[StaleCopy]) -> tuple[int, int]:
        return min(_CONFIDENCES.index(copy.confidence) for copy in group), group[0].line

    return sorted(groups, key=certainty)


def _belongs_to(copy: StaleCopy, group: list[StaleCopy]) -> bool:
    for other in group:
        if copy.function is other.function or aspect_of(copy) == aspect_of(other):
            return True
    return False


def aspect_of(copy: StaleCopy) -> Aspect:
    """What the change altered, whichever function it did it in.

    The same keyword of the same call.
    """
    alteration = copy.alteration
    words = alteration.added, alteration.removed, alteration.changed
    new_form = alteration.new.form
    if alteration.kind == "call" or any(words):
        return alteration.kind, alteration.old.key, words, None
    return alteration.kind, alteration.old.key, words, new_form
