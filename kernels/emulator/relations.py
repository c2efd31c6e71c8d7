"""What holds between the arguments in every recorded call: what callers see to.

A number that is changed has to leave these as they are, or no caller makes such an input. What
could be chance is none: it has to have been tried by numbers that are not all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations

import numpy as np

from kernels.emulator.library import HostTensor, Value
from kernels.emulator.recording import Call

# Numbers that show something, and calls that are asked.
_LEAST = 3
_MOST_CALLS = 40
# Of an array with more numbers the others are not looked at.
_MOST_NUMBERS = 1 << 14

Numbers = tuple[np.ndarray, ...]
Test = Callable[[Numbers], bool]


@dataclass(frozen=True)
class Relation:
    """Something that holds of the tensors at `places`; `name` is one of `KINDS`."""

    name: str
    places: tuple[int, ...]

    def holds(self, values: Sequence[Value]) -> bool:
        """Whether it holds in a call; of tensors of other forms nothing is said."""
        numbers = _numbers(values, self.places)
        return numbers is None or KINDS[self.name].holds(numbers)


def find_relations(calls: Sequence[Call]) -> list[Relation]:
    """What holds in all of the calls, and in at least one of them is no chance."""
    shown = [call.values for call in calls[:_MOST_CALLS]]
    if not shown:
        return []
    return [relation for relation in _candidates(shown[0]) if _is_shown(relation, shown)]


def _candidates(values: Sequence[Value]) -> Iterator[Relation]:
    places = [place for place in range(len(values)) if _numbers(values, (place,)) is not None]
    for name, kind in KINDS.items():
        choose = combinations if kind.is_symmetric else permutations
        for chosen in choose(places, kind.arrays):
            if _numbers(values, chosen) is not None:
                yield Relation(name, chosen)


def _is_shown(relation: Relation, shown: Sequence[Sequence[Value]]) -> bool:
    if not all(relation.holds(values) for values in shown):
        return False
    kind = KINDS[relation.name]
    found = [_numbers(values, relation.places) for values in shown]
    tried = [numbers for numbers in found if numbers is not None]
    if kind.of_one_call:
        return any(kind.is_telling(numbers) for numbers in tried)
    return kind.is_telling(tuple(np.concatenate(column) for column in zip(*tried, strict=True)))


def _numbers(values: Sequence[Value], places: Sequence[int]) -> Numbers | None:
    """The numbers of the tensors at some places, where all are integers or flags, as many each."""
    found = []
    for place in places:
        value = values[place] if place < len(values) else None
        if not isinstance(value, HostTensor) or value.array.dtype.kind not in "ib":
            return None
        found.append(value.array.reshape(-1)[:_MOST_NUMBERS].astype(np.int64))
    return tuple(found) if len({len(array) for array in found}) == 1 else None


def _vary(numbers: Numbers) -> bool:
    """Whether each array has enough numbers, and not all of them are the same."""
    return len(numbers[0]) >= _LEAST and all(len(np.unique(array)) > 1 for array in numbers)


def _is_sorted(numbers: Numbers) -> bool:
    return bool((np.diff(numbers[0]) >= 0).all())


def _is_unique(numbers: Numbers) -> bool:
    """But for places that a number below 0 says to be empty."""
    [array] = numbers
    given = array[array >= 0]
    return len(np.unique(given)) == len(given)


def _are_equal(numbers: Numbers) -> bool:
    return bool((numbers[0] == numbers[1]).all())


def _is_less(numbers: Numbers) -> bool:
    return bool((numbers[0] < numbers[1]).all())


def _is_at_most(numbers: Numbers) -> bool:
    return bool((numbers[0] <= numbers[1]).all())


def _is_sum(numbers: Numbers) -> bool:
    return bool((numbers[0] + numbers[1] == numbers[2]).all())


def _exclude(numbers: Numbers) -> bool:
    """No request has both: one that has stopped has no token."""
    return not ((numbers[0] != 0) & (numbers[1] != 0)).any()


def _are_there_alone(numbers: Numbers) -> bool:
    """Each is there often enough where the other is not."""
    first, second = (array != 0 for array in numbers)
    return bool(min((first & ~second).sum(), (second & ~first).sum()) >= _LEAST)


@dataclass(frozen=True)
class Kind:
    """How many arrays a relation is about, how it is tried, and what shows that it is no chance:
    one call where it is `of_one_call`, else all together."""

    arrays: int
    holds: Test
    is_telling: Test = _vary
    is_symmetric: bool = False
    of_one_call: bool = False


KINDS = {
    "sorted": Kind(1, _is_sorted, of_one_call=True),
    "unique": Kind(1, _is_unique, of_one_call=True),
    "equal": Kind(2, _are_equal, is_symmetric=True),
    "less": Kind(2, _is_less),
    "at-most": Kind(2, _is_at_most),
    "exclude": Kind(2, _exclude, _are_there_alone, is_symmetric=True, of_one_call=True),
    "sum": Kind(3, _is_sum),
}
