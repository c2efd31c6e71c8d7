"""What the rows of a tensor of floats are in all calls: sorted, or shares of one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kernels.emulator.library import HostTensor, Value
from kernels.emulator.recording import Call
from kernels.emulator.replaying import FLOATS, as_float

# Different numbers of a row that show something.
_LEAST = 3
# What halves lose of a sum.
_NEARLY = 1e-2


@dataclass(frozen=True)
class RowRule:
    """What each row of the tensor at `place` is; `name` is one of `KINDS`."""

    place: int
    name: str

    def holds(self, values: Sequence[Value]) -> bool:
        """Whether it holds in a call; of what is no tensor of floats nothing is said."""
        rows = float_rows(values[self.place])
        return rows is None or KINDS[self.name](_numbers(values[self.place]))


def find_row_rules(calls: Sequence[Call]) -> list[RowRule]:
    """What holds in all of the calls, and is no chance in at least one."""
    if not calls:
        return []
    shown = [call.values for call in calls]
    return [
        rule
        for rule in _candidates(min(map(len, shown)))
        if all(rule.holds(values) for values in shown)
        and any(_is_telling(values[rule.place]) for values in shown)
    ]


def float_rows(value: Value) -> np.ndarray | None:
    """The rows of a tensor of floats, in its own memory and as it has them: bits, where numpy does
    not have the type. A tensor of one column is one row."""
    if not isinstance(value, HostTensor) or value.dtype not in FLOATS or value.array.size < 2:
        return None
    width = value.array.shape[-1]
    return value.array.reshape(-1, width if width > 1 else value.array.size)


def _candidates(count: int) -> Iterator[RowRule]:
    return (RowRule(place, name) for place in range(count) for name in KINDS)


def _numbers(value: Value) -> np.ndarray:
    assert isinstance(value, HostTensor)
    rows = float_rows(value)
    assert rows is not None
    return as_float(value).astype(np.float64).reshape(rows.shape)


def _is_telling(value: Value) -> bool:
    return float_rows(value) is not None and any(
        len(np.unique(row)) >= _LEAST for row in _numbers(value)
    )


def _ascend(rows: np.ndarray) -> bool:
    return bool((rows[:, 1:] >= rows[:, :-1]).all())


def _descend(rows: np.ndarray) -> bool:
    return bool((rows[:, 1:] <= rows[:, :-1]).all())


def _are_shares(rows: np.ndarray) -> bool:
    return bool((np.abs(rows.sum(axis=1) - 1) <= _NEARLY).all())


KINDS: dict[str, Callable[[np.ndarray], bool]] = {
    "ascending": _ascend,
    "descending": _descend,
    "shares": _are_shares,
}
