"""How a function is called elsewhere: what it is given there tells where a value belongs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from checks.domain.calls.binding import arguments_of
from checks.domain.calls.labels import Misplacement, label_of, names_by_position
from checks.domain.calls.sites import CallSite
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Param

# So many other calls tell of two names that say nothing by themselves.
_FEWEST_CALLS = 2


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two values of a call that may stand in each other's place: their labels, and the parameters
    for which they stand."""

    places: tuple[int, int]
    labels: tuple[str, str]
    params: tuple[str, str]

    @property
    def is_named(self) -> bool:
        """Whether one of them has the name of the other's parameter."""
        return self.labels[0] == self.params[1] or self.labels[1] == self.params[0]


def may_be_turned_round(call: E.Call, params: Sequence[Param]) -> bool:
    """Whether two values of the call could stand in each other's place, for all their names say."""
    return any(True for _ in _pairs(_labels(call, params), names_by_position(params)))


def find_turned_round(
    call: E.Call, params: Sequence[Param], others: Sequence[CallSite]
) -> Misplacement | None:
    """Two values that the other calls of the same function pass the other way round."""
    given = [_labels(other.call, params) for other in others]
    for pair in _pairs(_labels(call, params), names_by_position(params)):
        if _is_turned_round(pair, given):
            line = arguments_of(call).values[pair.places[0]].line
            return Misplacement("swapped", pair.labels[0], pair.params[0], pair.labels[1], line)
    return None


def _labels(call: E.Call, params: Sequence[Param]) -> list[str]:
    """The names of the values that a call passes by position."""
    count = len(names_by_position(params))
    return [label_of(value) for value in arguments_of(call).values[:count]]


def _pairs(labels: list[str], names: list[str]) -> Iterator[_Pair]:
    """The pairs of labelled values neither of which is named as its own parameter."""
    doubtful = [n for n, label in enumerate(labels) if label and not label.endswith(names[n])]
    for first, second in combinations(doubtful, 2):
        if labels[first] != labels[second] and not _are_alike(names[first], names[second]):
            both = (first, second)
            params = names[first], names[second]
            yield _Pair(both, (labels[first], labels[second]), params)


def _are_alike(one: str, other: str) -> bool:
    """`a` and `b`, `str1` and `str2`: what may be passed either way round."""
    if len(one) == len(other) == 1:
        return abs(ord(one) - ord(other)) == 1
    return one.rstrip("0123456789") == other.rstrip("0123456789")


def _is_turned_round(pair: _Pair, given: list[list[str]]) -> bool:
    """Whether the other calls pass both values, or the one that has the name of the other's
    parameter, in the other place, and none in this one."""
    first, second = pair.places
    told = [_told(labels, first, second) for labels in given]
    if any(pair.labels[0] == one or pair.labels[1] == two for one, two in told):
        return False
    reverse = sum(1 for one, two in told if (two, one) == pair.labels)
    if reverse >= _FEWEST_CALLS or (reverse and pair.is_named):
        return True
    one_way = sum(1 for _, two in told if two == pair.labels[0] == pair.params[1])
    other_way = sum(1 for one, _ in told if one == pair.labels[1] == pair.params[0])
    return max(one_way, other_way) >= _FEWEST_CALLS


def _told(labels: list[str], first: int, second: int) -> tuple[str, str]:
    """What a call passes at two places."""
    return (labels[first], labels[second]) if second < len(labels) else ("", "")
