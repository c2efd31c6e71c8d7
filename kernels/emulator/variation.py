"""Inputs like those that callers make: recorded calls with what a request has, contents, flags,
numbers and types changed, as long as what all calls show holds (`kernels.emulator.preconditions`).

What shows a difference is made as small as it can be.
"""

from __future__ import annotations

import copy
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations, islice, product

import numpy as np

from kernels.emulator.apart import gives_result, is_overwritten
from kernels.emulator.edits import EDITS, Edit, Filling, Retyping, Sources, sum_of_each
from kernels.emulator.library import HostTensor, Value
from kernels.emulator.preconditions import Preconditions, find_preconditions
from kernels.emulator.recording import Call
from kernels.emulator.replaying import FLOATS, size_of
from kernels.emulator.siblings import Comparison, Pair

_SETTING = "setting"
_MOST_EDITS = 4
# Edits of a kind that are tried before it is said to change nothing.
_TRIALS = 20
_MOST_CHOICES = 1 << 24
# Smaller calls that are tried with what showed a difference.
_FEW_CALLS = 2
# A limit in the environment where nothing says how much there is.
_LARGEST_SETTING = 64
# Of what no call gives: the ways in which an op is asked to take it, and those that are taken of
# each number of tensors.
_MOST_FILLINGS = 64
_FEW_FILLINGS = 2
# Elements: each variation of a larger call takes seconds.
_LARGEST_CALL = 1 << 16
# Attempts for one that is no other's input, and seconds for all: some ops take one for a call.
_MOST_FOR_ONE = 4
_LONGEST = 80.0


@dataclass(frozen=True)
class Freedom:
    """What may be changed: by the preconditions, and by the environment's variables that the op
    reads."""

    rules: Preconditions = field(default_factory=Preconditions)
    settings: Sequence[str] = ()


@dataclass(frozen=True)
class Attempt:
    """A recorded call, by its number, and what is changed of it."""

    index: int
    edits: tuple[Edit, ...]
    form: Retyping | Filling | None = None


def find_difference(
    pair: Pair,
    calls: Sequence[Call],
    most: int,
    counts: Counter[str],
    compare: Callable[[Pair, Call], Comparison] = Pair.compare,
) -> Comparison | None:
    """The first of at most `most` variations on which the sides differ, made as small as it can be.

    `counts` gets the number of inputs that agreed, differed, or were not compared. `compare` is how
    an input is given to both.
    """
    shown = small_calls(calls)
    if not shown:
        return None
    rules = find_preconditions(shown, partial(is_overwritten, pair))
    rules = rules.with_asked(shown[0].parameters, pair.asked)
    freedom = Freedom(rules, pair.settings)
    forms = [*find_retypings(pair, shown[0]), *find_fillings(pair, shown)]

    def made(attempt: Attempt) -> Call:
        varied = vary(shown, attempt.index, attempt.edits, freedom)
        return varied if attempt.form is None else reform(varied, attempt.form)

    def ask(call: Call) -> Comparison | None:
        comparison = compare(pair, call)
        counts[comparison.agreement] += 1
        return comparison if comparison.place else None

    until = time.monotonic() + _LONGEST
    seen = {_key(call) for call in shown}
    tried = 0
    attempts = draw_attempts(len(shown), useful_kinds(shown, freedom), forms)
    for attempt in islice(attempts, _MOST_FOR_ONE * most):
        call = made(attempt)
        if _key(call) in seen:
            continue
        seen.add(_key(call))
        found = ask(call)
        if found is not None:
            smaller = (ask(made(other)) for other in _smaller(attempt))
            return next(filter(None, smaller), found)
        tried += 1
        if tried == most or time.monotonic() > until:
            break
    return None


def _key(call: Call) -> int:
    """What tells a call from others."""
    values = tuple(v.array.tobytes() if isinstance(v, HostTensor) else repr(v) for v in call.values)
    return hash((values, *_types_of(call.values), *call.settings.items()))


def useful_kinds(shown: Sequence[Call], freedom: Freedom) -> list[str]:
    """The kinds of edits that change anything of some call: an op without floats has none of
    theirs."""
    chance = np.random.default_rng(0)
    kinds = [kind for kind in EDITS if _changes_any(kind, shown, freedom, chance)]
    return [*kinds, _SETTING] if freedom.settings else kinds


def _changes_any(
    kind: str, shown: Sequence[Call], freedom: Freedom, chance: np.random.Generator
) -> bool:
    for number in range(_TRIALS):
        index = number % len(shown)
        edit = Edit(kind, *chance.integers(0, _MOST_CHOICES, 3).tolist())
        if _key(vary(shown, index, [edit], freedom)) != _key(shown[index]):
            return True
    return False


def draw_attempts(
    count: int, kinds: Sequence[str], forms: Sequence[Retyping | Filling]
) -> Iterator[Attempt]:
    """Always the same ones, by chance, first each form with nothing else. Of 300 that Hypothesis
    chose none showed a mistake in a kernel that six of these show: it tries what is simple again
    and again."""
    yield from (Attempt(0, (), form) for form in forms)
    chance = np.random.default_rng(0)
    while kinds:
        numbers = chance.integers(0, _MOST_CHOICES, (chance.integers(1, _MOST_EDITS + 1), 3))
        edits = tuple(Edit(str(chance.choice(kinds)), *row) for row in numbers.tolist())
        form = int(chance.integers(0, 2 * len(forms) + 1))
        chosen = forms[form] if form < len(forms) else None
        yield Attempt(int(chance.integers(0, count)), edits, chosen)


def _smaller(attempt: Attempt) -> Iterator[Attempt]:
    """What changes less, of a call that is not larger, the least first."""
    forms = dict.fromkeys((None, attempt.form))
    for index in dict.fromkeys((*range(min(attempt.index, _FEW_CALLS)), attempt.index)):
        for count in range(len(attempt.edits) + 1):
            for edits in combinations(attempt.edits, count):
                for form in forms:
                    yield Attempt(index, edits, form)


def small_calls(calls: Sequence[Call]) -> list[Call]:
    """The small ones that take the same parameters as most of them, the smallest first."""
    small = [call for call in calls if size_of(call.values) <= _LARGEST_CALL]
    if not small:
        return []
    [(parameters, _)] = Counter(call.parameters for call in small).most_common(1)
    alike = [call for call in small if call.parameters == parameters]
    return sorted(alike, key=lambda call: size_of(call.values))


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
            retyped = reform(call, Retyping(places, dtype))
            if retyped.has_other_types and gives_result(pair, 1, retyped):
                found.append(Retyping(places, dtype))
    return found


def find_fillings(pair: Pair, calls: Sequence[Call]) -> list[Filling]:
    """The ways in which the op takes what all calls leave out: one tensor, or all at once, made
    of others of the call. Of copies for other hardware only that is known which tests
    show."""
    values = calls[0].values
    columns = zip(*(call.values for call in calls), strict=False)
    places = tuple(n for n, column in enumerate(columns) if all(v is None for v in column))
    if not places or not pair.is_one_op:
        return []
    kinds = {
        (value.dtype, value.array.ndim, value.array.shape[:1]): place
        for place, value in reversed(list(enumerate(values)))
        if isinstance(value, HostTensor)
    }
    donors = list(product(sorted(kinds.values()), (False, True)))
    found = []
    for chosen in dict.fromkeys((*((place,) for place in places), places)):
        ways = islice(product(donors, repeat=len(chosen)), _MOST_FILLINGS)
        fillings = (Filling(chosen, *zip(*way, strict=True)) for way in ways if way)
        taken = (way for way in fillings if gives_result(pair, 1, reform(calls[0], way)))
        found += islice(taken, _FEW_FILLINGS)
    return found


def reform(call: Call, form: Retyping | Filling) -> Call:
    """The call with other types of floats, or with what it leaves out."""
    values = list(call.values)
    form.apply(values)
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
        EDITS[edit.kind](edited, Sources(donor.values, rules), edit)
        for found in (*rules.sums, *rules.ids):
            found.restore(edited, call.values)
        if rules.hold(edited):
            values = edited
    return replace(call, values=values, is_shown=False, settings=environment)


def _types_of(values: Sequence[Value]) -> list[str]:
    return [value.dtype for value in values if isinstance(value, HostTensor)]


def _most_of_all(values: Sequence[Value], choice: int) -> int:
    """A bound for a limit: more than all requests have together, of one of their numbers."""
    positive = [number for number in sum_of_each(values) if number > 0]
    return 1 + positive[choice % len(positive)] if positive else _LARGEST_SETTING
