"""Arguments that are sums of other arguments, as recorded calls show it: `cu_seqlens` and its like.

A call in which a length is another has to have the sums of that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kernels.emulator.library import HostTensor, Value
from kernels.emulator.recording import Call

# Lengths that show a sum.
_LEAST = 3


@dataclass(frozen=True)
class PrefixSum:
    """The argument `sums` holds the sums of `lengths`, both by their positions.

    Each sum is that of the lengths before its place, or with `inclusive` that one too. With
    `of_rest`, what is summed is what a length lacks of a number that is the same in a whole call.
    """

    sums: int
    lengths: int
    inclusive: bool
    of_rest: bool

    def is_in(self, values: Sequence[Value]) -> bool:
        """Whether the call has these sums."""
        steps = self._steps(values)
        lengths = _row(values[self.lengths])
        if steps is None or lengths is None:
            return False
        known = lengths[: len(steps)]
        whole = steps + known if self.of_rest else steps - known
        return bool(len(steps) and (whole == (whole[0] if self.of_rest else 0)).all())

    def restore(self, values: Sequence[Value], before: Sequence[Value]) -> None:
        """Let the sums be those of the lengths; `before` are arguments of which they were that."""
        sums, lengths = _row(values[self.sums]), _row(values[self.lengths])
        old_sums, old_lengths = _row(before[self.sums]), _row(before[self.lengths])
        if sums is None or lengths is None or old_sums is None or old_lengths is None:
            return
        added = old_lengths - lengths if self.of_rest else lengths - old_lengths
        first = 0 if self.inclusive else 1
        total = np.cumsum(added)[: len(sums) - first]
        sums[:] = old_sums
        sums[first:] += total.astype(sums.dtype)

    def _steps(self, values: Sequence[Value]) -> np.ndarray | None:
        """What each place adds to the sum; None where the shapes are others."""
        sums, lengths = _row(values[self.sums]), _row(values[self.lengths])
        if sums is None or lengths is None or not 0 <= len(sums) - len(lengths) <= 1:
            return None
        if self.inclusive:
            return np.diff(sums, prepend=0) if len(sums) == len(lengths) else None
        return np.diff(sums) if len(sums) and sums[0] == 0 else None


def find_prefix_sums(calls: Sequence[Call]) -> list[PrefixSum]:
    """The sums that are in all calls, and in at least one of them are no chance."""
    if not calls:
        return []
    count = min(len(call.values) for call in calls)
    return [
        found
        for found in _candidates(count)
        if all(found.is_in(call.values) for call in calls)
        and any(_is_telling(call.values[found.lengths]) for call in calls)
    ]


def _candidates(count: int) -> Iterator[PrefixSum]:
    for sums in range(count):
        for lengths in range(count):
            if sums != lengths:
                for inclusive in (False, True):
                    for of_rest in (False, True):
                        yield PrefixSum(sums, lengths, inclusive, of_rest)


def _row(value: Value) -> np.ndarray | None:
    """The numbers of a tensor of integers with one dimension that counts."""
    if not isinstance(value, HostTensor) or value.array.dtype.kind != "i":
        return None
    return (
        value.array.reshape(-1) if value.array.size == max(value.array.shape, default=0) else None
    )


def _is_telling(value: Value) -> bool:
    """Whether there are enough lengths, not all the same: of two requests nearly every row is a sum
    of every other."""
    row = _row(value)
    return row is not None and len(row) >= _LEAST and len(set(row.tolist())) > 1
