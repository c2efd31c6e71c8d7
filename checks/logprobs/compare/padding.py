"""Rows that belong to no token: what a kernel leaves in slots of rejected drafts, and what a host
forgot to cut off.

Taught by vLLM#27615 and PaddlePaddle/FastDeploy#7788, where rows were sliced without the accepted
counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from checks.logprobs.compare.rows import Bools, LogprobRows, starts
from checks.logprobs.record import ABSENT, Ints


class Padding(IntEnum):
    """Why a row holds no token."""

    NONE = 0
    NO_ID = 1  # the id is negative
    NO_RANK = 2  # rank 0 with a logprob of 0 or NaN: no token is better than the best
    ZEROS = 3  # two or more columns with a logprob of exactly 0
    ONE_ID = 4  # the same id in every column
    REPEATED = 5  # bit for bit the row before, id, columns and log-sum-exp


KINDS = ("", *(kind.name.lower().replace("_", "-") for kind in Padding if kind))
"""The kinds by their numbers, as they are called in counts and words."""


@dataclass(frozen=True, slots=True)
class Stripped:
    """Rows without padding, and the `Padding` of every row as it was."""

    rows: LogprobRows
    kind: Ints  # [N before]


def strip(rows: LogprobRows, uneven: Bools) -> Stripped:
    """Take out what is certainly no token, from requests [R] that do not have as many rows on both
    sides: where they have, no row is too much, whatever is in it.
    """
    kind = padding_of(rows)
    request = np.repeat(np.arange(len(rows.start) - 1), rows.lengths)
    kept = np.flatnonzero((kind == Padding.NONE) | ~uneven[request])
    if len(kept) == len(rows):
        return Stripped(rows, kind)
    request = request[kept]
    lengths = np.bincount(request, minlength=len(rows.start) - 1)
    return Stripped(rows.take(kept, starts(lengths)), kind)


def padding_of(rows: LogprobRows) -> Ints:
    """`Padding` of each row: [N]."""
    kind = np.zeros(len(rows), np.int64)
    kind[(rows.ranks == 0) & ((rows.logprobs == 0) | np.isnan(rows.logprobs))] = Padding.NO_RANK
    if len(rows) and rows.k >= 2:
        kind[_repeated(rows)] = Padding.REPEATED
        there = rows.ids[:, 1] != ABSENT
        kind[there & (rows.ids[:, :1] == rows.ids).all(axis=1)] = Padding.ONE_ID
        kind[there & (rows.values[:, 0] == 0) & (rows.values[:, 1] == 0)] = Padding.ZEROS
    kind[rows.tokens < 0] = Padding.NO_ID
    return kind


def _repeated(rows: LogprobRows) -> Bools:
    """Rows equal to the one before in the same request. Two finite columns are asked for: a
    distribution that is cut down to one token looks the same at every place.
    """
    same = np.zeros(len(rows), np.bool_)
    near = (rows.tokens[1:] == rows.tokens[:-1]) & (rows.logprobs[1:] == rows.logprobs[:-1])
    maybe = (
        np.flatnonzero(near & np.isfinite(rows.values[1:, 0]) & np.isfinite(rows.values[1:, 1])) + 1
    )
    first = np.zeros(len(rows) + 1, np.bool_)
    first[rows.start] = True
    maybe = maybe[~first[maybe]]
    equal = (rows.ids[maybe] == rows.ids[maybe - 1]).all(axis=1)
    equal &= (rows.values[maybe] == rows.values[maybe - 1]).all(axis=1)
    equal &= (rows.logz[maybe] == rows.logz[maybe - 1]) | np.isnan(rows.logz[maybe])
    same[maybe[equal]] = True
    return same
