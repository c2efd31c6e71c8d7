"""What bounds a request's numbers in all calls: a dimension of a tensor, or a plain number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kernels.emulator.library import HostTensor, Value
from kernels.emulator.recording import Call

# A dimension of 1 bounds nothing: it is there so that others have their place.
_LEAST = 2


@dataclass(frozen=True)
class Limit:
    """No number of the tensor at `place` is larger than what is at `of`: its dimension `axis`, or
    the number itself; with `is_sum`, all together are not."""

    place: int
    of: int
    axis: int
    is_sum: bool = False

    def of_call(self, values: Sequence[Value]) -> int | None:
        """How large it is in a call; None where it is not there, or too small to be one."""
        value = values[self.of]
        limit: object = value
        if isinstance(value, HostTensor):
            limit = value.array.shape[self.axis] if self.axis < value.array.ndim else None
        is_limit = isinstance(limit, int) and not isinstance(limit, bool) and limit >= _LEAST
        return limit if is_limit and isinstance(limit, int) else None

    def reached(self, values: Sequence[Value]) -> int | None:
        """The largest number of the tensor, or the sum of all."""
        value = values[self.place]
        if not isinstance(value, HostTensor) or value.array.dtype.kind != "i":
            return None
        if value.array.size == 0:
            return None
        return int(value.array.sum() if self.is_sum else value.array.max())

    def holds(self, values: Sequence[Value]) -> bool:
        """Whether a call keeps it."""
        limit, reached = self.of_call(values), self.reached(values)
        return limit is None or reached is None or reached <= limit


def find_limits(calls: Sequence[Call], places: Sequence[int]) -> list[Limit]:
    """The limits that all calls keep, of the tensors at `places`; a sum has to reach its own in one
    of them."""
    if not calls:
        return []
    shown = [call.values for call in calls]
    found = []
    for limit in _candidates(shown[0], places):
        if not all(limit.holds(values) for values in shown):
            continue
        if any(_is_shown(limit, values) for values in shown):
            found.append(limit)
    return found


def _is_shown(limit: Limit, values: Sequence[Value]) -> bool:
    size, reached = limit.of_call(values), limit.reached(values)
    return size is not None and (not limit.is_sum or size == reached)


def _candidates(values: Sequence[Value], places: Sequence[int]) -> Iterator[Limit]:
    for place in places:
        for of, value in enumerate(values):
            axes = range(value.array.ndim if isinstance(value, HostTensor) else 1)
            for axis in axes:
                yield Limit(place, of, axis)
            if of != place:
                yield Limit(place, of, 0, is_sum=True)


def largest(limits: Sequence[Limit], values: Sequence[Value], place: int) -> int | None:
    """The largest number that a call lets a tensor have, where something says so."""
    own = [limit.of_call(values) for limit in limits if limit.place == place and not limit.is_sum]
    known = [limit for limit in own if limit is not None]
    return int(np.min(known)) if known else None
