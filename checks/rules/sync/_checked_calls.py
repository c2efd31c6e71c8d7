"""The Python calls that leave out what the function has come to need."""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.domain.calls.sites import (
    CallSite,
    NameOfCalls,
    called_under,
    calls_of_name,
    calls_to_check,
)
from checks.domain.source_search import changed_python_functions
from checks.lang.ir.source_file import Function
from checks.rules.sync._none_uses import needs_new_parameter, passes_optional_on


def calls_with_options(change: ChangeSet, config: Config) -> Iterator[CallSite]:
    """Calls that the change may have broken, and those of functions that now need an option."""
    yield from calls_to_check(change, config)
    for name, owners in sorted(_needing_options(change, config)):
        yield from calls_of_name(name, owners, change, config)


def _needing_options(change: ChangeSet, config: Config) -> set[NameOfCalls]:
    names: set[NameOfCalls] = set()
    for base, head, unit in changed_python_functions(change, config):
        if _needs_more(base, head) or passes_optional_on(head, unit, change):
            names.add(called_under(head, unit, change))
    return names


def _needs_more(base: Function | None, head: Function) -> bool:
    return base is not None and needs_new_parameter(base, head)
