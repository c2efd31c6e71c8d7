"""Arguments that say of each token whose it is: the number of its request, as often as it has
tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from kernels.emulator.library import HostTensor, Value
from kernels.emulator.recording import Call


@dataclass(frozen=True)
class RowIds:
    """The tensor `ids` has the number of each request as often as `lengths` says, both by their
    positions; behind these there may be more of anything."""

    ids: int
    lengths: int

    def is_in(self, values: Sequence[Value]) -> bool:
        """Whether a call has these numbers."""
        ids, wanted = _flat(values[self.ids]), self._wanted(values)
        if ids is None or wanted is None or len(ids) < len(wanted):
            return False
        return bool((ids[: len(wanted)] == wanted).all())

    def is_telling(self, values: Sequence[Value]) -> bool:
        """Whether there are several requests that have tokens."""
        wanted = self._wanted(values)
        return wanted is not None and len(np.unique(wanted)) > 1

    def restore(self, values: Sequence[Value], before: Sequence[Value]) -> None:
        """Let the numbers be those of the lengths, where these have the same sum as before."""
        ids, wanted, old = _flat(values[self.ids]), self._wanted(values), self._wanted(before)
        if ids is not None and wanted is not None and old is not None and len(wanted) == len(old):
            ids[: len(wanted)] = wanted

    def _wanted(self, values: Sequence[Value]) -> np.ndarray | None:
        lengths = _flat(values[self.lengths])
        if lengths is None or (lengths < 0).any():
            return None
        return np.repeat(np.arange(len(lengths)), lengths)


def find_row_ids(calls: Sequence[Call], places: Sequence[int]) -> list[RowIds]:
    """Which of the tensors at `places` are that in all calls, in one of them of several."""
    if not calls:
        return []
    candidates = permutations(range(min(len(call.values) for call in calls)), 2)
    return [
        found
        for found in (RowIds(*pair) for pair in candidates if pair[0] in places)
        if all(found.is_in(call.values) for call in calls)
        and any(found.is_telling(call.values) for call in calls)
    ]


def _flat(value: Value) -> np.ndarray | None:
    """The numbers of a tensor of integers, in its own memory."""
    if not isinstance(value, HostTensor) or value.array.dtype.kind != "i":
        return None
    return value.array.reshape(-1)
