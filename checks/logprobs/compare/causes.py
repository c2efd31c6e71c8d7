"""Explanations that the numbers prove: a row that is another row, a distribution that was scaled,
answers that were swapped. What only looks likely is not named.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from checks.logprobs.compare.columns import difference
from checks.logprobs.compare.comparable import temperature
from checks.logprobs.compare.measure import REAL_DIVERGENCES, Grade, Measured
from checks.logprobs.compare.rows import Bools, LogprobRows
from checks.logprobs.compare.tally import Tally
from checks.logprobs.record import ABSENT, Floats, Ints, Record

_FEWEST_COLUMNS = 3
# Nats; more than what rounding to a few digits on the way leaves of two equal numbers, or of one.
_TORN, _EXACT = 1e-3, 2e-5
_SLOPE = 0.02  # how near two slopes, or a slope and a temperature, have to be to be the same


def note_causes(
    tally: Tally, measured: Measured, pairs: Sequence[tuple[Record, Record]], tolerance: float
) -> None:
    """Count the rows that each explanation explains."""
    over = np.flatnonzero((measured.grade == Grade.OVER) | (measured.grade == Grade.UNSURE))
    _zeros(tally, measured)
    _torn(tally, measured)
    _small_constants(tally, measured)
    if len(over):
        _numbers(tally, measured, over)
        _lines(tally, measured, over, pairs, tolerance)
        _other_rows(tally, measured, over, [base.id for base, _ in pairs], tolerance)
    _mark(tally, measured, over, pairs)


def _zeros(tally: Tally, measured: Measured) -> None:
    """llama.cpp#27972: a logprob of 0 for every token."""
    row = measured.row[measured.moved != 0]
    tally.counts["moved"] += len(row)
    tally.counts["zero-base"] += int((measured.base.logprobs[row] == 0).sum())
    tally.counts["zero-head"] += int((measured.head.logprobs[row] == 0).sum())


def _torn(tally: Tally, measured: Measured) -> None:
    """Rows whose token has one logprob by itself and another one in the columns: they are of
    different rows.
    """
    for side, rows in (("base", measured.base), ("head", measured.head)):
        left, torn = measured.row, 0
        for ids, values in zip(rows.ids.T, rows.values.T, strict=True):
            here = ids[left] == rows.tokens[left]
            at = left[here]
            known = ~np.isnan(rows.logprobs[at]) & ~np.isnan(values[at])
            torn += int((known & (np.abs(difference(rows.logprobs[at], values[at])) > _TORN)).sum())
            left = left[~here]
            if not len(left):
                break
        tally.counts[f"torn-{side}"] += torn


def _small_constants(tally: Tally, measured: Measured) -> None:
    """Rows within the tolerance that moved as a whole, every column by the same."""
    columns, small = measured.columns, measured.grade == Grade.NOISE
    whole = small & (columns.count >= _FEWEST_COLUMNS)
    whole[whole] = columns.high[whole] - columns.low[whole] < _EXACT
    whole &= np.abs(columns.high) > _TORN
    tally.counts["whole"] += int(whole.sum())
    tally.counts["whole-up"] += int((whole & (columns.high > 0)).sum())


def _numbers(tally: Tally, measured: Measured, over: Ints) -> None:
    """Rows with a NaN, or with -inf for the token that was chosen, at one side alone."""
    row = measured.row[over]
    sides = ("base", measured.base, measured.head), ("head", measured.head, measured.base)
    for side, mine, other in sides:
        nan = _nan(mine, row) & ~_nan(other, row)
        infinite = np.isneginf(mine.logprobs[row]) & np.isfinite(other.logprobs[row])
        tally.counts[f"nan-{side}"] += int(nan.sum())
        tally.counts[f"inf-{side}"] += int(infinite.sum())


def _nan(rows: LogprobRows, at: Ints) -> Bools:
    """Rows with a NaN for a token that is there."""
    columns = np.isnan(rows.values[at]) & (rows.ids[at] != ABSENT)
    return np.asarray(np.isnan(rows.logprobs[at]) | columns.any(axis=1))


def _lines(
    tally: Tally,
    measured: Measured,
    over: Ints,
    pairs: Sequence[tuple[Record, Record]],
    tolerance: float,
) -> None:
    """Rows in which head is base plus a constant, or base times a slope plus a constant."""
    shared = min(measured.base.k, measured.head.k)
    row = measured.row[over]
    x, y = measured.base.values[row, :shared], measured.head.values[row, :shared]
    same = (
        (measured.base.ids[row, :shared] == measured.head.ids[row, :shared])
        & np.isfinite(x)
        & np.isfinite(y)
    )
    enough = same.sum(axis=1) >= _FEWEST_COLUMNS
    over, x, y, same = over[enough], x[enough], y[enough], same[enough]
    if not len(over):
        return
    noise = tolerance * measured.unit[over]
    x, y = np.where(same, x, 0.0), np.where(same, y, 0.0)
    n = same.sum(axis=1)
    mean_x, mean_y = x.sum(axis=1) / n, y.sum(axis=1) / n
    dx, dy = np.where(same, x - mean_x[:, None], 0.0), np.where(same, y - mean_y[:, None], 0.0)
    constant = (np.abs(dy - dx).max(axis=1) <= noise) & (np.abs(mean_y - mean_x) > noise)
    tally.counts["constant"] += int(constant.sum())
    tally.counts["constant-up"] += int((constant & (mean_y > mean_x)).sum())
    with np.errstate(invalid="ignore", divide="ignore"):
        slope = (dx * dy).sum(axis=1) / (dx * dx).sum(axis=1)
        rest = np.abs(dy - slope[:, None] * dx).max(axis=1)
    scaled = (
        (rest <= noise * np.maximum(1, slope))
        & (np.abs(slope - 1) > _SLOPE)
        & (slope > 0)
        & ~constant
        & (n > 3)
    )
    tally.counts["scaled"] += int(scaled.sum())
    tally.slope(slope[scaled].tolist())
    heat = np.array([temperature(base, head) for base, head in pairs])[measured.request[over]]
    tally.counts["tempered-head"] += int((scaled & (np.abs(slope * heat - 1) < _SLOPE)).sum())
    with np.errstate(divide="ignore"):
        tally.counts["tempered-base"] += int((scaled & (np.abs(slope / heat - 1) < _SLOPE)).sum())


def _other_rows(
    tally: Tally, measured: Measured, over: Ints, names: list[str], tolerance: float
) -> None:
    """Rows of head that are another row of base: same ids in the same order, same values within the
    tolerance.
    """
    base, head = measured.base, measured.head
    shared = min(base.k, head.k)
    if shared < _FEWEST_COLUMNS:
        return
    row, request = measured.row[over], measured.request[over]
    wanted = _signature(head.ids[row, :shared])
    own = _signature(base.ids[:, :shared])
    of_request = np.repeat(np.arange(len(base.lengths)), base.lengths)
    inside = _found(_with(wanted, request), _with(own, of_request), row)
    anywhere = np.where(inside >= 0, inside, _found(wanted, own, row))
    hit = np.flatnonzero((anywhere >= 0) & (anywhere != row))
    with np.errstate(invalid="ignore"):
        apart = np.abs(head.values[row[hit], :shared] - base.values[anywhere[hit], :shared])
    equal = (apart <= tolerance * measured.unit[over[hit], None]) | np.isnan(apart)
    hit = hit[equal.all(axis=1)]
    source, at = anywhere[hit], row[hit]
    own_request = of_request[source] == request[hit]
    offsets, found = np.unique((source - at)[own_request], return_counts=True)
    tally.rows_of.update(
        {
            f"{offset:+d}": rows
            for offset, rows in zip(offsets.tolist(), found.tolist(), strict=True)
        }
    )
    others = np.unique(np.stack([request[hit], of_request[source]])[:, ~own_request], axis=1)
    tally.rows_of["other"] += int((~own_request).sum())
    tally.name(
        "rows-of-other", [f"{names[mine]} ← {names[other]}" for mine, other in others.T.tolist()]
    )


def _signature(ids: Ints) -> Ints:
    """A number of each row's ids and their order: [n]."""
    weights = np.array(
        [pow(0x9E3779B97F4A7C15, j + 1, 1 << 63) for j in range(ids.shape[1])], np.int64
    )
    with np.errstate(over="ignore"):
        return np.asarray((ids * weights).sum(axis=1))


def _with(signature: Ints, request: Ints) -> Ints:
    with np.errstate(over="ignore"):
        return np.asarray(signature * 31 + request)


def _found(wanted: Ints, known: Ints, row: Ints) -> Ints:
    """[n] the row in `known` with the wanted signature that is nearest after or before `row`; -1
    without one.
    """
    size = len(known)
    signatures, group = np.unique(known, return_inverse=True)
    places = np.sort(group * size + np.arange(size))
    mine = np.minimum(np.searchsorted(signatures, wanted), len(signatures) - 1)
    after = np.searchsorted(places, mine * size + row)
    nearest, found = np.full(len(wanted), size), np.full(len(wanted), -1)
    for at in (after - 1, after):
        place = places[at.clip(0, size - 1)]
        distance = np.where(place // size == mine, np.abs(place % size - row), size)
        found = np.where(distance < nearest, place % size, found)
        nearest = np.minimum(distance, nearest)
    return np.where(signatures[mine] == wanted, found, -1)


def _mark(
    tally: Tally, measured: Measured, over: Ints, pairs: Sequence[tuple[Record, Record]]
) -> None:
    """Remember the answers that differ, to find each among those of the other side."""
    real = np.flatnonzero(measured.split >= min(REAL_DIVERGENCES))
    if not len(real) and not len(over):
        return
    for side, number in (("base", 0), ("head", 1)):
        marks = {}
        for r in np.union1d(real, np.unique(measured.request[over])):
            record = pairs[r][number]
            marks[_digest(record.tokens, record.logprobs)] = record.id
        tally.mark(side, marks)


def _digest(tokens: Ints, logprobs: Floats) -> int:
    data = tokens.tobytes() + logprobs.tobytes()
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "big")
