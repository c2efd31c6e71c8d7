"""Inputs like those that callers make: recorded calls with what a request has, contents, flags,
numbers and types changed, as long as what all calls show holds (`kernels.emulator.preconditions`).

Hypothesis chooses, and finds the smallest input with a difference.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from kernels.emulator.edits import EDITS, Edit, Retyping, Sources, sum_of_each
from kernels.emulator.library import HostTensor, Value
from kernels.emulator.preconditions import Preconditions, find_preconditions
from kernels.emulator.recording import Call
from kernels.emulator.replaying import FLOATS, size_of
from kernels.emulator.siblings import Comparison, Pair

_SETTING = "setting"
_MOST_EDITS = 4
# A limit in the environment where nothing says how much there is.
_LARGEST_SETTING = 64
_LARGEST_CALL = 1 << 16


@dataclass(frozen=True)
class Freedom:
    """What may be changed: by the preconditions, by the environment's variables that the op reads,
    and by the types in which it takes its floats."""

    rules: Preconditions = field(default_factory=Preconditions)
    settings: Sequence[str] = ()
    types: Sequence[Retyping] = ()

    @property
    def kinds(self) -> list[str]:
        """The kinds of edits that can change anything."""
        kinds = [kind for kind in EDITS if kind != "type" or self.types]
        return [*kinds, _SETTING] if self.settings else kinds


class _Differs(Exception):
    def __init__(self, comparison: Comparison) -> None:
        super().__init__()
        self.comparison = comparison


def find_difference(
    pair: Pair,
    calls: Sequence[Call],
    most: int,
    counts: Counter[str],
    compare: Callable[[Pair, Call], Comparison] = Pair.compare,
) -> Comparison | None:
    """The smallest of at most `most` variations on which the sides differ.

    `counts` gets the number of inputs that agreed, differed, or were not compared; it stays empty
    where Hypothesis is not installed. `compare` is how an input is given to both.
    """
    try:
        import hypothesis
        from hypothesis import strategies
    except ImportError:
        return None
    small = [call for call in calls if size_of(call.values) <= _LARGEST_CALL]
    if not small:
        return None
    [(parameters, _)] = Counter(call.parameters for call in small).most_common(1)
    alike = [call for call in small if call.parameters == parameters]
    shown = sorted(alike, key=lambda call: size_of(call.values))
    rules = find_preconditions(shown, pair.overwrites)
    freedom = Freedom(rules, pair.settings, find_retypings(pair, shown[0]))
    number = strategies.integers(0, 1 << 12)
    edit = strategies.builds(Edit, strategies.sampled_from(freedom.kinds), number, number, number)
    edits = strategies.lists(edit, min_size=1, max_size=_MOST_EDITS)

    @hypothesis.settings(
        max_examples=most,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),
        phases=(hypothesis.Phase.generate, hypothesis.Phase.shrink),
    )
    @hypothesis.given(strategies.integers(0, len(shown) - 1), edits)
    def check(index: int, edits: Sequence[Edit]) -> None:
        comparison = compare(pair, vary(shown, index, edits, freedom))
        counts[comparison.agreement] += 1
        if comparison.place:
            raise _Differs(comparison)

    try:
        check()
    except _Differs as error:
        return error.comparison
    return None


def find_retypings(pair: Pair, call: Call) -> list[Retyping]:
    """The types in which the op takes one tensor of floats, two, all, or all but one; not those of
    the call."""
    floats = [
        place
        for place, value in enumerate(call.values)
        if isinstance(value, HostTensor) and value.dtype in FLOATS
    ]
    chosen = [
        places
        for count in sorted({1, 2, len(floats) - 1, len(floats)})
        for places in combinations(floats, max(count, 0))
    ]
    found = []
    for places in filter(None, chosen):
        for dtype in pair.types:
            retyped = retype(call, Retyping(places, dtype))
            if retyped.has_other_types and pair.gives_result(1, retyped):
                found.append(Retyping(places, dtype))
    return found


def retype(call: Call, retyping: Retyping) -> Call:
    """The call with other types of floats."""
    values = list(call.values)
    retyping.apply(values)
    is_other = _types_of(values) != _types_of(call.values)
    return replace(call, values=values, is_shown=False, has_other_types=is_other)


def vary(
    shown: Sequence[Call], index: int, edits: Sequence[Edit], freedom: Freedom | None = None
) -> Call:
    """The call at `index` with those edits that leave an input which a caller may make."""
    freedom = freedom or Freedom()
    rules = freedom.rules
    call = shown[index]
    environment = dict(call.settings)
    values = copy.deepcopy(call.values)
    for edit in edits:
        donor = shown[edit.donor % len(shown)]
        if len(donor.values) != len(values):
            continue
        if edit.kind == _SETTING:
            which, name = divmod(edit.choice, len(freedom.settings))
            most = _most_of_all(values, which)
            environment[freedom.settings[name]] = str(edit.place % most)
            continue
        edited = copy.deepcopy(values)
        EDITS[edit.kind](edited, Sources(donor.values, rules, freedom.types), edit)
        for found in rules.sums:
            found.restore(edited, call.values)
        if rules.hold(edited):
            values = edited
    return replace(
        call,
        values=values,
        is_shown=False,
        settings=environment,
        has_other_types=_types_of(values) != _types_of(call.values),
    )


def _types_of(values: Sequence[Value]) -> list[str]:
    return [value.dtype for value in values if isinstance(value, HostTensor)]


def _most_of_all(values: Sequence[Value], choice: int) -> int:
    """A bound for a limit: more than all requests have together, of one of their numbers."""
    positive = [number for number in sum_of_each(values) if number > 0]
    return 1 + positive[choice % len(positive)] if positive else _LARGEST_SETTING
