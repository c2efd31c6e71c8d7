"""The two or three pieces of code that tell most about a change."""

from __future__ import annotations

from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction, changed_functions
from checks.core.config import Config
from checks.core.finding import Location, Message, Side
from checks.summary.model import Claim, Excerpt, FileCard

MOST = 3
_MOST_LINES = 44
_LEAST_ADDED = 3
# Sentences that are reason enough to read a function, where they speak of it by name.
_TOLD = frozenset({"split", "extracted", "carried", "moved", "function-replaced"})
_EXPLAINED = {
    "op-replaced": 25,
    "split": 30,
    "extracted": 25,
    "carried": 25,
    "branches": 10,
    "op-added": 25,
    "op-changed": 8,
    "moved": 5,
}


def excerpts(
    change: ChangeSet, config: Config, claims: tuple[Claim, ...], cards: tuple[FileCard, ...]
) -> tuple[Excerpt, ...]:
    """The changed functions that most claims speak of and that gained most lines, one a function, in that order."""
    scores = {c.path: c.score for c in cards}
    laid_out = {
        (p.path, p.start_line) for c in claims if c.message.key == "layout" for p in c.places
    }
    ranked = []
    for delta in changed_functions(change, config):
        if (delta.head.path, delta.head.start_line) in laid_out:
            continue
        about = [c for c in claims if _speaks_of(c, delta)]
        added = len(_added(delta, change))
        if not added:
            continue
        worth = (
            min(added, 40)
            + sum(_EXPLAINED.get(c.message.key, 2) for c in about)
            + 2 * scores.get(delta.head.path, 0)
        )
        ranked.append((-worth, delta.head.path, delta.head.start_line, delta, about, added))
    ranked.sort(key=lambda r: r[:3])
    ranked = [r for r in ranked if r[-1] >= _LEAST_ADDED] or ranked[:1]
    return tuple(_excerpt(delta, change, about, added) for *_, delta, about, added in ranked[:MOST])


def _speaks_of(claim: Claim, delta: ChangedFunction) -> bool:
    return (
        _inside(claim, delta)
        or delta.head.qualname in claim.symbols
        or delta.head.name == claim.message.args.get("name")
    )


def _inside(claim: Claim, delta: ChangedFunction) -> bool:
    places = (p for p in claim.places if p.side is Side.HEAD)
    return any(p.path == delta.head.path and delta.head.covers(p.start_line) for p in places)


def _added(delta: ChangedFunction, change: ChangeSet) -> set[int]:
    file = change.changed(delta.head.path)
    inside = set(range(delta.head.start_line, delta.head.end_line + 1))
    return file.head_lines() & inside if file else set()


def _excerpt(delta: ChangedFunction, change: ChangeSet, about: list[Claim], added: int) -> Excerpt:
    head, lines = delta.head, _added(delta, change)
    start, end = _window(head.start_line, head.end_line, lines)
    reason = "excerpt-new" if delta.base is None else "excerpt-changed"
    told = next((c.message for c in about if c.message.key in _TOLD and _inside(c, delta)), None)
    args = {"name": head.qualname, "lines": added, "of": head.end_line - head.start_line + 1}
    return Excerpt(
        Location(head.path, start, end),
        head.qualname,
        told or Message(reason, args),
        tuple(delta.unit.text(start, end).split("\n")),
        frozenset(lines & set(range(start, end + 1))),
    )


def _window(start: int, end: int, changed: set[int]) -> tuple[int, int]:
    """The whole function, or the lines of it that hold most of what changed."""
    if end - start < _MOST_LINES:
        return start, end
    middle = sum(changed) / max(1, len(changed)) - _MOST_LINES / 2
    first = max(
        range(start, end - _MOST_LINES + 2),
        key=lambda s: (sum(n in changed for n in range(s, s + _MOST_LINES)), -abs(s - middle), -s),
    )
    return first, first + _MOST_LINES - 1
