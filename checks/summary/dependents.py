"""Who calls what a change touched."""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Location
from checks.domain.calls.sites import calls_of_name
from checks.domain.change_facts import Facts, FunctionFact
from checks.lang.source import language
from checks.summary.changes.names import last_part
from checks.summary.model import Dependent

# A short name is found in half of the tree.
_SHORTEST_NAME = 8


def find_dependents(change: ChangeSet, config: Config, facts: Facts) -> tuple[Dependent, ...]:
    """The places of the product that call Python functions which the change touched, those of other
    files.

    A call is known by its name: names that more than one function of the tree has are left out.
    """
    first_calls: dict[tuple[str, str], Location] = {}
    names: dict[tuple[str, str], set[str]] = {}
    for function in _functions(change, config, facts):
        name = last_part(function.name)
        owner = function.name.rpartition(".")[0]
        for site in calls_of_name(name, (owner,) if owner else (), change, config):
            place = Location(site.unit.path, site.lines[0])
            pair = (place.path, function.path)
            if place.path == function.path:
                continue
            known = first_calls.setdefault(pair, place)
            first_calls[pair] = min(known, place, key=lambda found: found.start_line)
            names.setdefault(pair, set()).add(name)
    pairs = sorted(names, key=lambda pair: (-len(names[pair]), pair))
    return tuple(
        Dependent(first_calls[pair], pair[1], tuple(sorted(names[pair]))) for pair in pairs
    )


def _functions(change: ChangeSet, config: Config, facts: Facts) -> Iterator[FunctionFact]:
    """The Python functions of the product that are there and that no other has the name of."""
    for function in facts.functions:
        in_product = language(function.path) == "python" and not config.is_test(function.path)
        if in_product and function.what != "removed" and _is_unique(function, change):
            yield function


def _is_unique(function: FunctionFact, change: ChangeSet) -> bool:
    name = last_part(function.name)
    if len(name) < _SHORTEST_NAME or name.startswith("__"):
        return False
    return _definitions(name, change) == 1


def _definitions(name: str, change: ChangeSet) -> int:
    definition = re.compile(rf"\s*(async\s+)?def\s+{re.escape(name)}\b")
    return sum(1 for match in change.head.find(name, "python") if definition.match(match.text))
