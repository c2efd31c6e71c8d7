"""One side's arguments in the terms of the other, where a source shows that both mean the same."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from kernels.emulator.library import HostTensor, Value
from kernels.emulator.rewrite.text import mask

# tokens + row * length + offsets[row]
_SHIFTED = re.compile(r"\b(\w+)\s*\+\s*(\w+)\s*\*\s*\w+\s*\+\s*(\w+)\[\s*\2\s*\]")
# What engines write where a row has no token.
_NO_TOKEN = -1


@dataclass(frozen=True)
class RowShift:
    """One side reads each row of `base` from `offsets[row]` on; the other takes those as `rows`."""

    base: str
    offsets: str
    rows: str

    def translate(self, given: Mapping[str, Value]) -> dict[str, Value]:
        """The arguments with those of the other side."""
        translated = dict(given)
        base, offsets, rows = (given.get(n) for n in (self.base, self.offsets, self.rows))
        if isinstance(base, HostTensor) and isinstance(offsets, HostTensor):
            translated[self.rows] = read_rows(base, offsets)
        elif isinstance(rows, HostTensor):
            translated[self.base] = rows
            none = np.zeros((len(rows.array), 1), np.int64)
            translated[self.offsets] = HostTensor(none, "int64")
        return translated


def read_rows(base: HostTensor, offsets: HostTensor) -> HostTensor:
    """Each row of `base`, [rows, length], from its offset on; what is left of it has no token."""
    array = np.full_like(base.array, _NO_TOKEN)
    for row, offset in enumerate(offsets.array.reshape(-1)[: len(array)]):
        first = min(max(int(offset), 0), array.shape[1])
        array[row, : array.shape[1] - first] = base.array[row, first:]
    return HostTensor(array, base.dtype, base.on_host)


def find_shift(
    texts: Iterable[str], own_names: Collection[str], other_names: Collection[str]
) -> RowShift | None:
    """The shift that the sources of a side show, of parameters that this side alone takes.

    Only where the other side alone takes one parameter: the rows can be nothing else.
    """
    others = [name for name in other_names if name not in own_names]
    if len(others) != 1:
        return None
    for text in texts:
        for base, _, offsets in _SHIFTED.findall(mask(text)):
            if {base, offsets} <= set(own_names) - set(other_names):
                return RowShift(base, offsets, others[0])
    return None
