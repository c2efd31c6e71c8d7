"""Rows of many requests, one after another, so that one numpy call serves them all.

A row is one generated token with its logprob, its rank and its top-k columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from checks.logprobs.record import ABSENT, Floats, Ints, Record

Bools: TypeAlias = NDArray[np.bool_]

_MANTISSA = {
    "bfloat16": 7,
    "bf16": 7,
    "float16": 10,
    "fp16": 10,
    "half": 10,
    "float32": 23,
    "fp32": 23,
    "float": 23,
}
_COARSEST, _FINEST = 7, 23
# Where no log-sum-exp says how large the logits are: no model's best logit is expected outside of
# these.
_SMALLEST_LOGIT, _LARGEST_LOGIT = 1.0, 64.0
# Half of the 1e-5 that a float32 sum over a vocabulary may be off; finer logits cannot be told
# apart through it.
_FINEST_UNIT = 5e-6


@dataclass(frozen=True, slots=True)
class LogprobRows:
    """N rows of R requests with k columns; what nobody gave is NaN, an id `ABSENT`, a rank or place
    of -1.
    """

    start: Ints  # [R + 1], row of each request's first token
    tokens: Ints  # [N]
    logprobs: Floats  # [N]
    ranks: Ints  # [N]
    logz: Floats  # [N]
    top: Floats  # [N], the largest logit
    ids: Ints  # [N, k], column after column in memory: a row is too short for a loop of its own
    values: Floats  # [N, k], likewise
    place: Ints  # [N], place in the step that gave the token, 0 for its first
    position: Ints  # [N], place in the request as it was recorded

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def k(self) -> int:
        return int(self.ids.shape[1])

    @property
    def lengths(self) -> Ints:
        """Rows of each request: [R]."""
        return np.diff(self.start)

    def take(self, index: Ints, start: Ints) -> LogprobRows:
        """Some of the rows, in the order of `index`, as requests that begin at `start`."""
        fields = {name: getattr(self, name).T for name in self.__slots__ if name != "start"}
        # not "raise", which makes one more copy
        return LogprobRows(
            start,
            **{name: values.take(index, axis=-1, mode="clip").T for name, values in fields.items()},
        )


def rows_of(records: Sequence[Record]) -> LogprobRows:
    """The rows of one or more records, in order."""
    start = starts([len(r) for r in records])
    width = max(r.k for r in records)

    def joined(
        read: Callable[[Record], NDArray[Any] | None], absent: float, dtype: type
    ) -> NDArray[Any]:
        return np.concatenate(
            [np.full(len(r), absent, dtype) if (p := read(r)) is None else p for r in records]
        )

    return LogprobRows(
        start,
        joined(lambda r: r.tokens, 0, np.int64),
        joined(lambda r: r.logprobs, np.nan, np.float64),
        joined(lambda r: r.ranks, -1, np.int64),
        joined(lambda r: r.logz, np.nan, np.float64),
        joined(lambda r: r.max_logit, np.nan, np.float64),
        _tables([r.topk_ids for r in records], width, ABSENT),
        _tables([r.topk_logprobs for r in records], width, np.nan),
        _places(records),
        ramps(np.diff(start)),
    )


def starts(lengths: Sequence[int] | Ints) -> Ints:
    """[R + 1] row numbers at which requests of these lengths begin, and the end."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(np.asarray(lengths, np.int64))])


def ramps(lengths: Ints) -> Ints:
    """0, 1, ... for each length, one after another."""
    ends = np.cumsum(lengths)
    return np.arange(int(lengths.sum())) - np.repeat(ends - lengths, lengths)


def _tables(tables: Sequence[NDArray[Any]], width: int, absent: float) -> NDArray[Any]:
    joined = np.empty((width, sum(map(len, tables))), tables[0].dtype).T
    start = 0
    for table in tables:
        part = joined[start : start + len(table)]
        part[:, : table.shape[1]] = table
        part[:, table.shape[1] :] = absent
        start += len(table)
    return joined


def _places(records: Sequence[Record]) -> Ints:
    """`LogprobRows.place` of all rows."""
    unknown = [r.accept_num is None for r in records]
    steps = [np.ones(len(r), np.int64) if r.accept_num is None else r.accept_num for r in records]
    place = ramps(np.concatenate(steps))
    if any(unknown):
        place[np.repeat(unknown, [len(r) for r in records])] = -1
    return place


def units(base: LogprobRows, head: LogprobRows, dtypes: Sequence[str]) -> tuple[Floats, Floats]:
    """One ulp of the logits of each row, [N] in nats: the smallest that it can be and the largest.

    The two differ where the record has no log-sum-exp, or no dtype of the logits. `dtypes` are the
    requests'.
    """
    mantissa = [_MANTISSA.get(name.lower().rpartition(".")[2]) for name in dtypes]
    fine = np.repeat([_FINEST if bits is None else bits for bits in mantissa], base.lengths)
    coarse = np.repeat([_COARSEST if bits is None else bits for bits in mantissa], base.lengths)
    size = np.fmax(_magnitude(base), _magnitude(head))
    unknown = np.isnan(size)
    least = _ulp(np.where(unknown, _SMALLEST_LOGIT, size), fine)
    most = _ulp(np.where(unknown, _LARGEST_LOGIT, size), coarse)
    return least, most


def _ulp(size: Floats, mantissa: Ints) -> Floats:
    exponent = np.frexp(size)[1] - 1
    return np.maximum(np.ldexp(1.0, exponent - mantissa), _FINEST_UNIT)


def _magnitude(rows: LogprobRows) -> Floats:
    """The largest absolute logit that can be seen of each row; NaN where no logit is known."""
    if np.isnan(rows.logz).all():
        return np.abs(rows.top)
    high, low = rows.logprobs, rows.logprobs
    for column in rows.values.T:
        high, low = np.fmax(high, column), np.fmin(low, column)
    with np.errstate(invalid="ignore"):
        best = np.fmax(np.abs(rows.logz + high), np.abs(rows.top))
        size = np.fmax(best, np.abs(rows.logz + low))
    return np.where(np.isfinite(size), size, np.where(np.isfinite(best), best, np.nan))
