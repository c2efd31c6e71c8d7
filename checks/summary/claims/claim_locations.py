"""Where claims about functions point, and under which names a step finds them."""

from __future__ import annotations

from checks.core.finding import Location
from checks.lang.ir.source_file import Function

# Shorter names of methods (`run`, `forward`) stand for many methods.
_SHORTEST_METHOD_NAME = 10


def location_of(function: Function) -> Location:
    """Where a function is defined."""
    return Location(function.path, function.start_line)


def line_of(function: Function, line: int) -> tuple[Location, ...]:
    """One line of a function, as the places of a claim."""
    return (Location(function.path, line),)


def names_of(function: Function) -> tuple[str, ...]:
    """The names that stand for a function: qualified, and plain where that says enough."""
    if function.owner and not _is_telling(function.name):
        return (function.qualname,)
    return tuple(dict.fromkeys((function.qualname, function.name)))


def _is_telling(method: str) -> bool:
    return len(method) >= _SHORTEST_METHOD_NAME and not method.startswith("__")
