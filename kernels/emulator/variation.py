"""Inputs like those that callers make: rows, lengths, flags and numbers exchanged between recorded
calls.

But for a flag's other value, a length of 0 and a number in the environment, nothing that no call
shows comes into an input; what sums up lengths is summed up again.
Hypothesis chooses, and finds the smallest input with a difference.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kernels.emulator.library import HostTensor, Value
from kernels.emulator.prefix_sums import PrefixSum, find_prefix_sums
from kernels.emulator.readings import number_of_requests
from kernels.emulator.recording import Call
from kernels.emulator.replaying import size_of
from kernels.emulator.siblings import Comparison, Pair

_KINDS = ("row", "length", "idle", "flag", "number")
_SETTING = "setting"
_OF_ROWS = ("row", "length", "idle")
_MOST_EDITS = 4
# A limit in the environment where nothing says how much there is.
_LARGEST_SETTING = 64
_LARGEST_CALL = 1 << 16
# A tensor with such a name is worked out from all rows: other rows would make it wrong, unless it
# is known how.
_DERIVED = ("cu_", "offset", "batch_id", "index", "cumsum")


@dataclass(frozen=True)
class Edit:
    """One change of a call: of a row, of one or several of a request's lengths, of one flag or all,
    of a plain number, or of a variable of the environment.

    `kind` is one of `_KINDS` or `_SETTING`; `choice`, `place` and `donor` are any numbers,
    taken modulo what there is.
    """

    kind: str
    choice: int
    place: int
    donor: int


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
    shown = sorted(small, key=lambda call: size_of(call.values))
    if not shown:
        return None
    number = strategies.integers(0, 1 << 12)
    kinds = (*_KINDS, _SETTING) if pair.settings else _KINDS
    edit = strategies.builds(Edit, strategies.sampled_from(kinds), number, number, number)
    edits = strategies.lists(edit, min_size=1, max_size=_MOST_EDITS)
    sums = find_prefix_sums([call for call in shown if call.parameters == shown[0].parameters])

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
        comparison = compare(pair, vary(shown, index, edits, sums, pair.settings))
        counts[comparison.agreement] += 1
        if comparison.place:
            raise _Differs(comparison)

    try:
        check()
    except _Differs as error:
        return error.comparison
    return None


def vary(
    shown: Sequence[Call],
    index: int,
    edits: Sequence[Edit],
    sums: Sequence[PrefixSum] = (),
    settings: Sequence[str] = (),
) -> Call:
    """The call at `index` with the edits, rows and numbers being what another call shows there;
    `sums` are known to be in the calls, and `settings` to be read by the op."""
    call = shown[index]
    environment = dict(call.settings)
    values = copy.deepcopy(call.values)
    kept = [found for found in sums if found.is_in(values)]
    has_derived = _has_derived(call.parameters, {found.sums for found in kept})
    for edit in edits:
        donor = shown[edit.donor % len(shown)]
        if donor.parameters != call.parameters or len(donor.values) != len(values):
            continue
        if edit.kind in _OF_ROWS and has_derived:
            continue
        # Of rows that are longer than there was place for, nobody knows where the rest is.
        if edit.kind == "row" and not kept:
            _exchange_row(values, donor.values, edit)
        elif edit.kind == "length":
            _shorten(values, donor.values, edit)
        elif edit.kind == "idle":
            _make_idle(values, edit)
        elif edit.kind == "flag":
            _turn_flag(values, edit)
        elif edit.kind == "number":
            _exchange_number(values, donor.values, edit)
        elif edit.kind == _SETTING:
            which, name = divmod(edit.choice, len(settings))
            environment[settings[name]] = str(edit.place % _most_of_all(values, which))
    for found in kept:
        found.restore(values, call.values)
    return Call(call.op, call.parameters, values, is_shown=False, settings=environment)


def _has_derived(names: Sequence[str], known: Collection[int]) -> bool:
    others = [name for position, name in enumerate(names) if position not in known]
    return any(mark in name for name in others for mark in _DERIVED)


def _tensors(
    values: Sequence[Value], donor: Sequence[Value]
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The tensors of a call, each with the one that another call has there."""
    for value, other in zip(values, donor, strict=True):
        if isinstance(value, HostTensor) and isinstance(other, HostTensor):
            yield value.array, other.array


def _exchange_row(values: Sequence[Value], donor: Sequence[Value], edit: Edit) -> None:
    """One request of another call in the place of one of this, in all tensors at once."""
    rows = number_of_requests(values)
    donor_rows = number_of_requests(donor)
    if rows == 0 or donor_rows == 0:
        return
    pairs = []
    for array, other in _tensors(values, donor):
        if array.ndim == 0 or len(array) != rows:
            continue
        if other.shape != (donor_rows, *array.shape[1:]):
            return
        pairs.append((array, other))
    for array, other in pairs:
        array[edit.place % rows] = other[edit.choice % donor_rows]


def _shorten(values: Sequence[Value], donor: Sequence[Value], edit: Edit) -> None:
    """One number that a request has becomes a smaller one of another call, or 0 as an idle one has,
    so that what it counts is still there."""
    rows = number_of_requests(values)
    lengths = [
        (array.reshape(-1), other.reshape(-1))
        for array, other in _tensors(values, donor)
        if _is_number_of_rows(array, rows) and other.size
    ]
    if rows == 0 or not lengths:
        return
    which, tensor = divmod(edit.choice, len(lengths))
    array, shown = lengths[tensor]
    place = edit.place % rows
    smaller = shown[which // 2 % shown.size] if which % 2 else 0
    array[place] = min(array[place], smaller)


def _make_idle(values: Sequence[Value], edit: Edit) -> None:
    """Some of the numbers that one request has become 0, as an idle one has them: `choice` says
    which, a bit each and at least one."""
    rows = number_of_requests(values)
    lengths = [
        value.array.reshape(-1)
        for value in values
        if isinstance(value, HostTensor) and _is_number_of_rows(value.array, rows)
    ]
    if not lengths:
        return
    chosen = 1 + edit.choice % (2 ** len(lengths) - 1)
    for number, array in enumerate(lengths):
        if chosen >> number & 1:
            array[edit.place % rows] = 0


def _most_of_all(values: Sequence[Value], choice: int) -> int:
    """A bound for a limit: more than all requests have together, of one of their numbers."""
    rows = number_of_requests(values)
    sums = [
        int(value.array.sum())
        for value in values
        if isinstance(value, HostTensor) and _is_number_of_rows(value.array, rows)
    ]
    positive = [number for number in sums if number > 0]
    return 1 + positive[choice % len(positive)] if positive else _LARGEST_SETTING


def _is_number_of_rows(array: np.ndarray, rows: int) -> bool:
    """Whether an array has one integer for each request."""
    return array.dtype.kind == "i" and array.size == rows and array.shape[:1] == (rows,)


def _turn_flag(values: Sequence[Value], edit: Edit) -> None:
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


def _exchange_number(values: list[Value], donor: Sequence[Value], edit: Edit) -> None:
    """A plain number becomes the other call's."""
    numbers = [
        position
        for position, value in enumerate(values)
        if isinstance(value, (bool, int, float)) and type(donor[position]) is type(value)
    ]
    if numbers:
        position = numbers[edit.choice % len(numbers)]
        values[position] = donor[position]
