"""The top-k columns of two rows, paired by token id and never by their place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from checks.logprobs.compare.rows import Bools, LogprobRows
from checks.logprobs.record import ABSENT, Floats, Ints

# Noise moves a token by a few places. The columns of rows that are not settled by then are compared
# one with each.
_NEAR = 3
# What an absent cell of head is called while ids are compared, so that it is not base's.
_NOTHING = np.iinfo(np.int64).min


@dataclass(frozen=True, slots=True)
class Columns:
    """What N pairs of rows have in common. Differences are head minus base, in nats; infinite where
    one side is -inf or NaN and the other is not.
    """

    low: Floats  # [N] the smallest difference over the shared ids, 0 without any
    high: Floats  # [N] the largest
    count: Ints  # [N] shared ids
    other_order: Bools  # [N] the shared part has other ids, or the same in another order
    # [N] how far an id that one side lacks stands above the other's last column; -inf without one
    lost: Floats


@dataclass(frozen=True, slots=True)
class _Paired:
    """Columns with the same id, of n pairs of rows."""

    at: NDArray[np.int16]  # [n, kb] head's column, -1 without one
    values: Floats  # [n, kb] head's value there, anything without one
    only_base: Bools  # [n, kb] ids that were not found in head
    only_head: Bools  # [n, kh]
    twice: Bools  # [n] an id was found in two columns of one side


def compare_columns(base: LogprobRows, head: LogprobRows) -> Columns:
    """Pairs of rows with the same number; a side without columns has nothing in common with any."""
    shared, widest = min(base.k, head.k), max(base.k, head.k)
    rows = len(base)
    if not shared:
        none = np.zeros(rows)
        return Columns(none, none, np.zeros(rows, np.int64), none > 0, np.full(rows, -np.inf))
    same = (base.ids[:, :shared] == head.ids[:, :shared]).all(axis=1)
    moved = difference(base.values[:, :shared], head.values[:, :shared])
    count = (base.ids[:, :shared] != ABSENT).sum(axis=1)
    lost = np.full(rows, -np.inf)
    if base.k != head.k:
        wide, narrow = (base, head) if base.k > head.k else (head, base)
        lost = _above(np.fmax.reduce(wide.values[:, shared:], axis=1), _last(narrow))
    found = Columns(moved.min(axis=1), moved.max(axis=1), count, ~same, lost)
    # Most of the rows are as good as all of them, which need not be picked out.
    left = np.arange(rows) if 2 * same.sum() < rows else np.flatnonzero(~same)
    for reach, once in ((_NEAR, False), (widest, False), (widest, True)):
        if len(left):
            left = _match(base, head, left, found, reach, once)
    return found


def difference(base: Floats, head: Floats) -> Floats:
    """Head minus base: 0 for two that are equal, -inf and NaN included; infinite where only one is
    a number.
    """
    with np.errstate(invalid="ignore"):
        moved = head - base
    odd = ~np.isfinite(moved)
    if odd.any():
        b, h = base[odd], head[odd]
        fixed = np.where(np.isnan(b) ^ np.isnan(h), np.inf, moved[odd])
        moved[odd] = np.where((b == h) | (np.isnan(b) & np.isnan(h)), 0.0, fixed)
    return moved


def _match(
    base: LogprobRows, head: LogprobRows, part: Ints, found: Columns, reach: int, once: bool
) -> Ints:
    """Fill in the rows `part`, whose ids do not stand in the same order, and give those that need
    another look: their ids stand further apart than `reach` columns, or twice. With `once` they
    count where they stand first.
    """
    if len(part) < len(base):
        base, head = base.take(part, base.start), head.take(part, head.start)
    ids_b, ids_h = (_once(base.ids), _once(head.ids)) if once else (base.ids, head.ids)
    paired = _paired(ids_b, ids_h, head.values, reach)
    only_base, only_head = paired.only_base.any(axis=1), paired.only_head.any(axis=1)
    settled, lost = ~paired.twice, np.full(len(part), -np.inf)
    if reach < max(base.k, head.k):
        settled &= ~(only_base | only_head)
    else:
        lost = _lost(base, head, paired)
    there = paired.at >= 0
    moved = np.where(there, difference(base.values, paired.values), 0.0)
    in_order = ((np.maximum.accumulate(paired.at, axis=1) == paired.at) | ~there).all(axis=1)
    other_order = ~in_order | (only_base & only_head)
    at = part[settled]
    found.low[at], found.high[at] = moved.min(axis=1)[settled], moved.max(axis=1)[settled]
    found.count[at], found.lost[at] = there.sum(axis=1)[settled], lost[settled]
    found.other_order[at] = other_order[settled]
    return np.asarray(part[~settled])


def _paired(base: Ints, head: Ints, values: Floats, reach: int) -> _Paired:
    """Compare every column of base [n, kb] with those of head [n, kh] that are at most `reach`
    places away; `values` are head's.
    """
    found_b, found_h = base == ABSENT, head == ABSENT
    if found_h.any():
        head = np.where(found_h, _NOTHING, head)
    at = np.full(base.shape, -1, np.int16, order="F")
    twice = np.zeros(len(base), np.bool_)
    for shift in sorted(
        range(max(-reach, 1 - base.shape[1]), min(reach + 1, head.shape[1])), key=abs
    ):
        left = slice(max(0, -shift), min(base.shape[1], head.shape[1] - shift))
        right = slice(left.start + shift, left.stop + shift)
        same = base[:, left] == head[:, right]
        if same.any():
            twice |= (same & (found_b[:, left] | found_h[:, right])).any(axis=1)
            found_b[:, left] |= same
            found_h[:, right] |= same
            # a sum, of one number where an id was found once; writing where a mask says so takes
            # three times as long
            at[:, left] += same * np.arange(right.start + 1, right.stop + 1, dtype=np.int16)
    return _Paired(at, _taken(values, at), ~found_b, ~found_h, twice)


def _taken(values: Floats, at: NDArray[np.int16]) -> Floats:
    """The value in column `at` of each row, something else where that is no column."""
    place = at.T.astype(np.intp) * len(values) + np.arange(len(values))
    return values.T.reshape(-1).take(place, mode="clip").T


def _lost(base: LogprobRows, head: LogprobRows, paired: _Paired) -> Floats:
    """`Columns.lost` of rows that are paired."""
    best_base = np.fmax.reduce(np.where(paired.only_base, base.values, np.nan), axis=1)
    best_head = np.fmax.reduce(np.where(paired.only_head, head.values, np.nan), axis=1)
    return np.maximum(_above(best_base, _last(head)), _above(best_head, _last(base)))


def _once(ids: Ints) -> Ints:
    """Without ids that stand further left in their row already, which pair with nothing: a top-k
    that picks among several -inf may give one twice (vLLM#47594).
    """
    again = np.tril(ids[:, :, None] == ids[:, None, :], -1).any(axis=2)
    return np.where(again, ABSENT, ids)


def _last(rows: LogprobRows) -> Floats:
    """The smallest logprob of each row's best k. The chosen token does not count: many engines add
    it as a column.
    """
    if rows.k == 1:
        return rows.values[:, 0]
    others = np.where(
        (rows.ids == rows.tokens[:, None]) | (rows.ids == ABSENT), np.nan, rows.values
    )
    return np.asarray(np.fmin.reduce(others, axis=1))


def _above(value: Floats, last: Floats) -> Floats:
    """How far `value` is above `last`; -inf where either is nothing."""
    with np.errstate(invalid="ignore"):
        gap = value - last
    return np.where(np.isnan(gap), -np.inf, gap)
