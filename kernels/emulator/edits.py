"""Single changes of a call's arguments: of a request, its numbers, contents, flags, plain numbers;
and the types of floats."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kernels.emulator.float_rows import float_rows
from kernels.emulator.library import HostTensor, Value
from kernels.emulator.limits import largest
from kernels.emulator.preconditions import Preconditions, is_of_requests
from kernels.emulator.readings import number_of_requests
from kernels.emulator.replaying import FLOATS, as_float
from kernels.emulator.standins.paddle.small_floats import to_bits

# Where nothing is known of a tensor's numbers.
_ANY = (-np.inf, np.inf)
# What a number becomes beside another.
_BESIDE = (0, 0, 1, -1)
# Different numbers of a mixture.
_FEW = 3


@dataclass(frozen=True)
class Edit:
    """One change of a call: `kind` is one of `EDITS`, or of a variable of the environment.

    `choice`, `place` and `donor` are any numbers, taken modulo what there is.
    """

    kind: str
    choice: int
    place: int
    donor: int


@dataclass(frozen=True)
class Retyping:
    """The tensors at `places` get another type of floats."""

    places: tuple[int, ...]
    dtype: str

    def apply(self, values: list[Value]) -> None:
        """Give the tensors the type, and their numbers as it has them."""
        for place in self.places:
            value = values[place]
            if isinstance(value, HostTensor) and value.dtype in FLOATS:
                numbers = as_float(value).astype(np.float32)
                is_small = self.dtype == "bfloat16"
                array = to_bits(numbers, self.dtype) if is_small else numbers.astype(self.dtype)
                values[place] = HostTensor(array, self.dtype, value.on_host)


@dataclass(frozen=True)
class Filling:
    """What no call gives at `places` is made of the tensors at `donors`: each has its numbers from
    the last to the first, so that it is told from it, or nothing but 0."""

    places: tuple[int, ...]
    donors: tuple[int, ...]
    are_zero: tuple[bool, ...]

    def apply(self, values: list[Value]) -> None:
        """Give what is left out."""
        for place, donor, is_zero in zip(self.places, self.donors, self.are_zero, strict=True):
            value = values[donor]
            if isinstance(value, HostTensor):
                reverse = value.array.reshape(-1)[::-1].reshape(value.array.shape)
                array = np.zeros_like(reverse) if is_zero else reverse.copy()
                values[place] = HostTensor(array, value.dtype, value.on_host)


@dataclass(frozen=True)
class Sources:
    """What an edit may take from: another call's arguments, and what all callers see to."""

    donor: Sequence[Value]
    rules: Preconditions


def _exchange_row(values: list[Value], sources: Sources, edit: Edit) -> None:
    """One request of another call in the place of one of this, in all tensors at once."""
    rows = number_of_requests(values)
    donor_rows = number_of_requests(sources.donor)
    # Of rows that are longer than there was place for, nobody knows where the rest is.
    if rows == 0 or donor_rows == 0 or sources.rules.sums or sources.rules.derived:
        return
    pairs = []
    for array, other in _tensors(values, sources.donor):
        if array.ndim == 0 or len(array) != rows:
            continue
        if other.shape != (donor_rows, *array.shape[1:]):
            return
        pairs.append((array, other))
    for array, other in pairs:
        array[edit.place % rows] = other[edit.choice % donor_rows]


def _set_length(values: list[Value], sources: Sources, edit: Edit) -> None:
    """One number that a request has becomes what a call shows there, 0 as an idle one has it, 1, or
    the most that there is room for."""
    places = _free(values, sources.rules)
    if not places:
        return
    which, chosen = divmod(edit.choice, len(places))
    place = places[chosen]
    array, other = _integers(values, place), _integers(sources.donor, place)
    limit = largest(sources.rules.limits, values, place)
    numbers = [0, *other.tolist()[which // 4 % max(other.size, 1) :][:1], 1]
    numbers += [limit] if limit is not None else []
    array[edit.place % array.size] = numbers[which % len(numbers)]


def _make_idle(values: list[Value], sources: Sources, edit: Edit) -> None:
    """Some of the numbers that one request has become 0, as an idle one has them: `choice` says
    which, a bit each and at least one."""
    places = _free(values, sources.rules)
    if not places:
        return
    chosen = 1 + edit.choice % (2 ** len(places) - 1)
    for number, place in enumerate(places):
        if chosen >> number & 1:
            array = _integers(values, place)
            array[edit.place % array.size] = 0


def _meet(values: list[Value], sources: Sources, edit: Edit) -> None:
    """One number of a request becomes another one that it has, or a plain number, or one beside
    that: where they are compared it is decided so."""
    places = _free(values, sources.rules)
    if not places:
        return
    which, chosen = divmod(edit.choice, len(places))
    place = places[chosen]
    array = _integers(values, place)
    request = edit.place % array.size
    known = [value for value in values if isinstance(value, int) and not isinstance(value, bool)]
    known += [int(_integers(values, other)[request]) for other in places if other != place]
    if known:
        number = known[which % len(known)] + _BESIDE[edit.donor % len(_BESIDE)]
        if _fitting(np.array([number]), sources.rules, place).size:
            array[request] = number


def _transfer(values: list[Value], sources: Sources, edit: Edit) -> None:
    """One request gets one of what another one has, or all of it: together they have as much."""
    places = _free(values, sources.rules)
    if not places:
        return
    which, chosen = divmod(edit.choice, len(places))
    array = _integers(values, places[chosen])
    giving, taking = edit.place % array.size, edit.donor % array.size
    number = array[giving] if which % 2 else min(1, array[giving])
    after = array[[giving, taking]] + [-number, number]
    if giving != taking and _fitting(after, sources.rules, places[chosen]).size == len(after):
        array[[giving, taking]] = after


def _set_content(values: list[Value], sources: Sources, edit: Edit) -> None:
    """One of a tensor's integers becomes one of any tensor's that lies in what calls show there: a
    token that is sought is found, one that is known is another."""
    places = _with_contents(values, sources.rules)
    if not places:
        return
    which, chosen = divmod(edit.choice, len(places))
    place = places[chosen]
    asked = sources.rules.asked.get(place, ())
    given = _integers(values, places[which % len(places)])
    if asked and which % 2:
        given = np.array(asked)
    fitting = _fitting(given, sources.rules, place)
    if fitting.size:
        array = _integers(values, place)
        array[edit.place % array.size] = fitting[edit.donor % fitting.size]


def _mix(values: list[Value], sources: Sources, edit: Edit) -> None:
    """Some tensors of integers, `choice` says which, get but a few numbers that a call shows there:
    what is sought in one stands in others at many places, and does not at some."""
    rules = sources.rules
    places = _with_contents(values, rules)
    if not places:
        return
    pool = np.unique(_integers(values, places[edit.place % len(places)]))
    few = pool[np.arange(edit.place, edit.place + _FEW) % pool.size]
    chance = np.random.default_rng(edit.donor)
    for number, place in enumerate(places):
        fitting = _fitting(np.append(few, rules.asked.get(place, few)), rules, place)
        if not edit.choice >> number & 1 or not fitting.size:
            continue
        array = _integers(values, place)
        before = array.copy()
        array[:] = chance.choice(fitting, array.size)
        # What must not have equal numbers keeps its own, and the others do not.
        if not rules.hold(values):
            array[:] = before


def _set_float(values: list[Value], sources: Sources, edit: Edit) -> None:
    """Two floats of a row change places, or one becomes the other, or what a call shows there: what
    is the largest, or the first that is enough, is another."""
    places = [place for place in range(len(values)) if float_rows(values[place]) is not None]
    if not places:
        return
    which, chosen = divmod(edit.choice, len(places))
    rows, shown = (float_rows(given[places[chosen]]) for given in (values, sources.donor))
    if rows is None:
        return
    line, first = divmod(edit.place, rows.shape[1])
    row = rows[line % len(rows)]
    second = edit.donor % len(row)
    match which % 3:
        case 0:
            row[[first, second]] = row[[second, first]]
        case 1:
            row[first] = row[second]
        case _ if shown is not None and shown.dtype == rows.dtype:
            row[first] = shown.flat[edit.donor % shown.size]


def _turn_flag(values: list[Value], sources: Sources, edit: Edit) -> None:
    """One element of a tensor of flags is turned, or all become what it is not."""
    flags = [
        value.array
        for value in values
        if isinstance(value, HostTensor) and value.dtype == "bool" and value.array.size
    ]
    if flags:
        which, tensor = divmod(edit.choice, len(flags))
        array = flags[tensor]
        flat = np.unravel_index(edit.place % array.size, array.shape)
        array[... if which % 2 else flat] = not array[flat]


def _exchange_number(values: list[Value], sources: Sources, edit: Edit) -> None:
    """A plain number becomes the other call's; a flag among them is turned."""
    donor = sources.donor
    numbers = [
        position
        for position, value in enumerate(values)
        if isinstance(value, (bool, int, float)) and type(donor[position]) is type(value)
    ]
    if numbers:
        which, chosen = divmod(edit.choice, len(numbers))
        value = values[numbers[chosen]]
        is_turned = isinstance(value, bool) and which % 2
        values[numbers[chosen]] = not value if is_turned else donor[numbers[chosen]]


EDITS: dict[str, Callable[[list[Value], Sources, Edit], None]] = {
    "row": _exchange_row,
    "length": _set_length,
    "idle": _make_idle,
    "meet": _meet,
    "transfer": _transfer,
    "content": _set_content,
    "mixture": _mix,
    "float": _set_float,
    "flag": _turn_flag,
    "number": _exchange_number,
}


def sum_of_each(values: Sequence[Value]) -> list[int]:
    """What all requests have together, of each number that they have."""
    return [int(_integers(values, place).sum()) for place in _of_requests(values)]


def _tensors(
    values: Sequence[Value], donor: Sequence[Value]
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The tensors of a call, each with the one that another call has there."""
    for value, other in zip(values, donor, strict=True):
        if isinstance(value, HostTensor) and isinstance(other, HostTensor):
            yield value.array, other.array


def _of_requests(values: Sequence[Value]) -> list[int]:
    """The places of what has one integer for each request."""
    places = [place for place in range(len(values)) if is_of_requests(values, place)]
    return [place for place in places if _integers(values, place).size]


def _with_contents(values: Sequence[Value], rules: Preconditions) -> list[int]:
    """The places of integers that nothing is worked out from in an unknown way."""
    free = [place for place in rules.ranges if place not in rules.kept]
    return [place for place in free if _integers(values, place).size]


def _fitting(numbers: np.ndarray, rules: Preconditions, place: int) -> np.ndarray:
    """Those numbers that lie in what calls show of a tensor, or that the op asks it for."""
    lowest, highest = rules.ranges.get(place, _ANY)
    is_asked = np.isin(numbers, rules.asked.get(place, ()))
    return numbers[is_asked | ((numbers >= lowest) & (numbers <= highest))]


def _free(values: Sequence[Value], rules: Preconditions) -> list[int]:
    """Those of them that nothing is worked out from in an unknown way."""
    return [place for place in _of_requests(values) if place not in rules.kept]


def _integers(values: Sequence[Value], place: int) -> np.ndarray:
    """A tensor's numbers one after another, in its own memory; none where it is no tensor."""
    value = values[place]
    return value.array.reshape(-1) if isinstance(value, HostTensor) else np.zeros(0, np.int64)
