"""The top-k columns of two rows, paired by token id and never by their place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from checks.logprobs.compare.rows import Bools, Rows
from checks.logprobs.record import ABSENT, Floats, Ints

# Rows whose columns are matched at once, k * k comparisons each: what fits into a cache.
_AT_ONCE = 512


@dataclass(frozen=True, slots=True)
class Columns:
    """What N pairs of rows have in common. Differences are head minus base, in nats; infinite where one side is -inf
    or NaN and the other is not."""

    low: Floats  # [N] the smallest difference over the shared ids, 0 without any
    high: Floats  # [N] the largest
    count: Ints  # [N] shared ids
    worst: Ints  # [N] the id that differs most
    other_order: Bools  # [N] the shared part has other ids, or the same in another order
    lost: Floats  # [N] how far an id that one side lacks stands above the other's last column; -inf without one


def compare_columns(base: Rows, head: Rows) -> Columns:
    """Pairs of rows with the same number; a side without columns has nothing in common with any."""
    shared = min(base.k, head.k)
    rows = len(base)
    if not shared:
        none = np.zeros(rows)
        absent = np.full(rows, ABSENT)
        return Columns(none, none, np.zeros(rows, np.int64), absent, none > 0, np.full(rows, -np.inf))
    same = (base.ids[:, :shared] == head.ids[:, :shared]).all(axis=1)
    moved = difference(base.values[:, :shared], head.values[:, :shared])
    moved[~same] = 0.0
    low, high = moved.min(axis=1), moved.max(axis=1)
    count = (base.ids[:, :shared] != ABSENT).sum(axis=1)
    worst = base.ids[np.arange(rows), np.abs(moved).argmax(axis=1)]
    lost = np.full(rows, -np.inf)
    if base.k != head.k:
        wide, narrow = (base, head) if base.k > head.k else (head, base)
        over = np.fmax.reduce(wide.values[:, shared:], axis=1)
        lost = _above(over, _last(narrow))
    found = Columns(low, high, count, worst, ~same, lost)
    left = np.flatnonzero(~same)
    if base.k == head.k:
        left = _permuted(base, head, left, found)
    for n in range(0, len(left), _AT_ONCE):
        _match(base, head, left[n : n + _AT_ONCE], found)
    return found


def difference(base: Floats, head: Floats) -> Floats:
    """Head minus base: 0 for two that are equal, -inf and NaN included; infinite where only one is a number."""
    with np.errstate(invalid="ignore"):
        moved = head - base
    odd = ~np.isfinite(moved)
    if odd.any():
        b, h = base[odd], head[odd]
        fixed = np.where(np.isnan(b) ^ np.isnan(h), np.inf, moved[odd])
        moved[odd] = np.where((b == h) | (np.isnan(b) & np.isnan(h)), 0.0, fixed)
    return moved


def _permuted(base: Rows, head: Rows, part: Ints, found: Columns) -> Ints:
    """Fill in those rows of `part` that have the same ids in another order, and give the others."""
    ids_b, ids_h = base.ids[part], head.ids[part]
    order_b, order_h = (ids.argsort(axis=1, kind="stable") for ids in (ids_b, ids_h))
    ids_b = np.take_along_axis(ids_b, order_b, axis=1)
    same = (ids_b == np.take_along_axis(ids_h, order_h, axis=1)).all(axis=1)
    moved = difference(
        np.take_along_axis(base.values[part], order_b, axis=1), np.take_along_axis(head.values[part], order_h, axis=1)
    )
    at = part[same]
    found.low[at], found.high[at] = moved.min(axis=1)[same], moved.max(axis=1)[same]
    found.count[at] = (ids_b != ABSENT).sum(axis=1)[same]
    found.worst[at] = ids_b[np.arange(len(part)), np.abs(moved).argmax(axis=1)][same]
    return np.asarray(part[~same])


def _match(base: Rows, head: Rows, part: Ints, found: Columns) -> None:
    """Fill in the rows `part`, whose ids do not stand in the same order."""
    ids_b, ids_h = _once(base.ids[part]), _once(head.ids[part])
    values_b, values_h = base.values[part], head.values[part]
    equal = (ids_b[:, :, None] == ids_h[:, None, :]) & (ids_b != ABSENT)[:, :, None]  # [n, kb, kh]
    both = equal.any(axis=2)
    partner = np.take_along_axis(values_h, equal.argmax(axis=2), axis=1)
    moved = np.where(both, difference(values_b, partner), 0.0)
    found.low[part], found.high[part] = moved.min(axis=1), moved.max(axis=1)
    found.count[part] = both.sum(axis=1)
    found.worst[part] = ids_b[np.arange(len(part)), np.abs(moved).argmax(axis=1)]
    only_b = np.where(both | (ids_b == ABSENT), np.nan, values_b)
    only_h = np.where(equal.any(axis=1) | (ids_h == ABSENT), np.nan, values_h)
    lost_b = _above(np.fmax.reduce(only_b, axis=1), _last(head)[part])
    lost_h = _above(np.fmax.reduce(only_h, axis=1), _last(base)[part])
    found.lost[part] = np.maximum(lost_b, lost_h)
    partner_at = np.where(both, equal.argmax(axis=2), -1)
    in_order = (np.maximum.accumulate(partner_at, axis=1) == partner_at) | ~both
    found.other_order[part] = ~in_order.all(axis=1) | (~np.isnan(only_b).all(axis=1) & ~np.isnan(only_h).all(axis=1))


def _once(ids: Ints) -> Ints:
    """Without ids that stand further left in their row already, which pair with nothing: a top-k that picks among
    several -inf may give one twice (vLLM#47594)."""
    again = np.tril(ids[:, :, None] == ids[:, None, :], -1).any(axis=2)
    return np.where(again, ABSENT, ids)


def _last(rows: Rows) -> Floats:
    """The smallest logprob of each row's best k. The chosen token does not count: many engines add it as a column."""
    if rows.k == 1:
        return rows.values[:, 0]
    others = np.where((rows.ids == rows.tokens[:, None]) | (rows.ids == ABSENT), np.nan, rows.values)
    return np.asarray(np.fmin.reduce(others, axis=1))


def _above(value: Floats, last: Floats) -> Floats:
    """How far `value` is above `last`; -inf where either is nothing."""
    with np.errstate(invalid="ignore"):
        gap = value - last
    return np.where(np.isnan(gap), -np.inf, gap)
