"""What a change puts into a table that stands in the source: a dict, a list, a tuple, a set."""

from __future__ import annotations

from dataclasses import dataclass

from checks.core.code import equal_code
from checks.lang.ir import expr as E
from checks.lang.ir.render import source_of


@dataclass(frozen=True, slots=True)
class EntryChanges:
    """The keys or elements that a table gained and lost, and the keys with another value."""

    gained: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    altered: tuple[str, ...] = ()


def entry_changes(before: E.Expr | None, after: E.Expr | None) -> EntryChanges:
    """What differs between two tables; nothing where one of the two values is none, or where they
    are of different kinds."""
    if isinstance(before, E.Mapping) and isinstance(after, E.Mapping):
        return _of_mappings(before, after)
    if isinstance(before, E.Sequence) and isinstance(after, E.Sequence):
        old = [source_of(item) for item in before.items]
        new = [source_of(item) for item in after.items]
        return EntryChanges(_without(new, old), _without(old, new))
    return EntryChanges()


def _of_mappings(before: E.Mapping, after: E.Mapping) -> EntryChanges:
    old, new = _values_by_key(before), _values_by_key(after)
    altered = [key for key in new if key in old and not equal_code(old[key], new[key])]
    return EntryChanges(_without(list(new), list(old)), _without(list(old), list(new)), (*altered,))


def _values_by_key(table: E.Mapping) -> dict[str, E.Expr]:
    return {source_of(key): value for key, value in table.items if key is not None}


def _without(entries: list[str], others: list[str]) -> tuple[str, ...]:
    """The entries that are not among the others, each once."""
    known = set(others)
    return tuple(dict.fromkeys(entry for entry in entries if entry not in known))
