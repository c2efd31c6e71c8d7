"""What every caller sees to, as far as the recorded calls of an op show it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from kernels.emulator.float_rows import RowRule, find_row_rules
from kernels.emulator.library import HostTensor, Value
from kernels.emulator.limits import Limit, find_limits
from kernels.emulator.prefix_sums import PrefixSum, find_prefix_sums
from kernels.emulator.readings import number_of_requests
from kernels.emulator.recording import Call
from kernels.emulator.relations import Relation, find_relations
from kernels.emulator.row_ids import RowIds, find_row_ids

# Different numbers of requests that show something.
_LEAST = 3
# A tensor with such a name is worked out from all rows: other rows would make it wrong, unless it
# is known how.
_DERIVED = ("cu_", "offset", "batch_id", "index", "cumsum")


@dataclass(frozen=True)
class Preconditions:
    """What holds in all calls: `sums` and `ids` are made again where a number changes, the rest
    forbids it.

    `ranges` are the smallest and largest number of each tensor of integers. `derived` are tensors
    that are worked out from others in a way that nobody knows, `bound` those that they may be
    worked out from. `asked` are numbers that a tensor may have though no call shows it.
    """

    sums: Sequence[PrefixSum] = ()
    ids: Sequence[RowIds] = ()
    rows: Sequence[RowRule] = ()
    relations: Sequence[Relation] = ()
    limits: Sequence[Limit] = ()
    ranges: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    derived: Collection[int] = ()
    bound: Collection[int] = ()
    asked: Mapping[int, Sequence[int]] = field(default_factory=dict)

    def with_asked(
        self, parameters: Sequence[str], numbers: Mapping[str, Collection[int]]
    ) -> Preconditions:
        """The same, with the numbers that the op's code asks its parameters for."""
        places = [place for place in self.ranges if place < len(parameters)]
        asked = {place: sorted(numbers.get(parameters[place], ())) for place in places}
        return replace(self, asked={place: found for place, found in asked.items() if found})

    @property
    def kept(self) -> set[int]:
        """What no edit may change by itself."""
        return {*self.derived, *self.bound}

    def hold(self, values: Sequence[Value]) -> bool:
        """Whether a caller may give this."""
        rules: Sequence[Relation | Limit | RowRule] = (*self.relations, *self.limits, *self.rows)
        return all(rule.holds(values) for rule in rules) and all(
            found.is_in(values) for found in self.ids
        )


def find_preconditions(
    calls: Sequence[Call], is_overwritten: Callable[[Call, int], bool]
) -> Preconditions:
    """What the calls show; `is_overwritten` says of which tensors the op reads nothing."""
    if not calls:
        return Preconditions()
    first = calls[0]
    tensors = [place for place, value in enumerate(first.values) if _is_integers(value)]
    marked = [place for place in tensors if _is_derived(first.parameters, place)]
    # The first call and the last: one may have nothing to do.
    ends = (calls[0], calls[-1])
    written = {place for place in marked if all(is_overwritten(call, place) for call in ends)}
    sums = [found for found in find_prefix_sums(calls) if found.sums not in written]
    ids = find_row_ids(calls, [place for place in marked if place not in written])
    known = {found.sums for found in sums} | {found.ids for found in ids} | written
    # What is made again needs no watching, and what is overwritten none either.
    relations = [found for found in find_relations(calls) if not known & set(found.places)]
    rows = [place for place in tensors if is_of_requests(first.values, place)]
    derived = [place for place in marked if place not in known]
    return Preconditions(
        sums,
        ids,
        find_row_rules(calls),
        relations,
        find_limits(calls, [place for place in rows if place not in known]),
        {place: _range(calls, place) for place in tensors if place not in known},
        derived,
        [row for row in rows if any(_may_explain(calls, row, place) for place in derived)],
    )


def is_of_requests(values: Sequence[Value], place: int) -> bool:
    """Whether an argument has one integer for each request."""
    value = values[place]
    rows = number_of_requests(values)
    if not isinstance(value, HostTensor) or value.array.dtype.kind != "i":
        return False
    return value.array.size == rows and value.array.shape[:1] == (rows,)


def _may_explain(calls: Sequence[Call], row: int, derived: int) -> bool:
    """Whether what is derived may come from a number of the requests: but where these have several,
    and what each request adds to the derived is the same."""
    for call in calls:
        numbers, steps = call.values[row], _steps(call.values[derived])
        if isinstance(numbers, HostTensor) and steps is not None and len(set(steps)) == 1:
            shown = numbers.array.reshape(-1)[: len(steps)]
            if len(np.unique(shown)) >= _LEAST:
                return False
    return True


def _steps(value: Value) -> list[int] | None:
    """What each place adds."""
    if not isinstance(value, HostTensor) or value.array.dtype.kind != "i" or value.array.size < 2:
        return None
    steps: list[int] = np.diff(value.array.reshape(-1).astype(np.int64)).tolist()
    return steps


def _is_integers(value: Value) -> bool:
    return isinstance(value, HostTensor) and value.dtype.startswith("int")


def _is_derived(names: Sequence[str], place: int) -> bool:
    name = names[place] if place < len(names) else ""
    return any(mark in name for mark in _DERIVED)


def _range(calls: Sequence[Call], place: int) -> tuple[int, int]:
    arrays = [call.values[place] for call in calls if place < len(call.values)]
    numbers = [
        value.array.reshape(-1)
        for value in arrays
        if isinstance(value, HostTensor) and value.array.size
    ]
    if not numbers:
        return 0, 0
    together = np.concatenate(numbers)
    return int(together.min()), int(together.max())
