"""One side's arguments in the terms of the other, where a source shows that both mean the same."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from kernels.emulator.library import HostTensor, Value
from kernels.emulator.rewrite.text import mask

# tokens + row * length + offsets[row]
_SHIFTED = re.compile(r"\b(\w+)\s*\+\s*(\w+)\s*\*\s*\w+\s*\+\s*(\w+)\[\s*\2\s*\]")
# What engines write where a row has no token.
_NO_TOKEN = -1
# `stop_seqs_len` counts what `stop_seqs` has.
_COUNTS = ("_len", "_lens")


class RequestsDiffer(Exception):
    """Requests have something of their own that the other side takes once for all."""


class Reading(Protocol):
    """How one side says what the other one says in other arguments."""

    def translate(self, given: Mapping[str, Value]) -> dict[str, Value]:
        """The arguments with those of the other side. Raises `RequestsDiffer`."""


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


@dataclass(frozen=True)
class TakenOnce:
    """A side takes a tensor of `rank` dimensions once; the other takes it for each request.

    `count` is the parameter that says how much of it counts, if there is one; `is_whole` that this
    side takes none, so that all of it counts.
    """

    name: str
    rank: int
    count: str = ""
    is_whole: bool = False

    def translate(self, given: Mapping[str, Value]) -> dict[str, Value]:
        """The arguments with what all requests have. Raises `RequestsDiffer`."""
        translated = dict(given)
        value, count = given.get(self.name), given.get(self.count)
        if not isinstance(value, HostTensor) or value.array.ndim != self.rank + 1:
            return translated
        row = value.array
        if isinstance(count, HostTensor):
            own = _same_for_all(count.array.reshape(len(row), -1), self.count)
            translated[self.count] = HostTensor(own, count.dtype, count.on_host)
            row = row[:, : int(own[0])] if self.is_whole else row
        row = _same_for_all(row, self.name)
        translated[self.name] = HostTensor(row, value.dtype, value.on_host)
        return translated


@dataclass(frozen=True)
class TakenByEach:
    """A side takes for each request what the other takes once, with `rank` dimensions.

    `count` is the parameter that says how much of it counts, if this side has one, and
    `count_type` its type.
    """

    name: str
    rank: int
    count: str = ""
    count_type: str = ""

    def translate(self, given: Mapping[str, Value]) -> dict[str, Value]:
        """The arguments with the same for all requests."""
        translated = dict(given)
        value, count = given.get(self.name), given.get(self.count)
        if not isinstance(value, HostTensor) or value.array.ndim != self.rank:
            return translated
        requests = number_of_requests(given.values())
        translated[self.name] = _for_each(value, requests)
        if isinstance(count, HostTensor):
            translated[self.count] = _for_each(count, requests)
        elif self.count:
            counts = np.full((requests, 1), len(value.array), self.count_type)
            translated[self.count] = HostTensor(counts, self.count_type)
        return translated


def count_of(name: str, parameters: Collection[str]) -> str:
    """The parameter that says how much of `name` counts, or nothing."""
    return next((name + end for end in _COUNTS if name + end in parameters), "")


def number_of_requests(values: Iterable[Value]) -> int:
    """The most common first dimension."""
    sizes = Counter(
        len(value.array)
        for value in values
        if isinstance(value, HostTensor) and value.array.ndim > 0
    )
    return sizes.most_common(1)[0][0] if sizes else 0


def _same_for_all(rows: np.ndarray, name: str) -> np.ndarray:
    if len(rows) == 0 or (rows != rows[:1]).any():
        raise RequestsDiffer(f"one side takes {name} once for all requests, which differ in it")
    return rows[0].copy()


def _for_each(value: HostTensor, requests: int) -> HostTensor:
    array = np.broadcast_to(value.array, (requests, *value.array.shape)).copy()
    return HostTensor(array, value.dtype, value.on_host)
