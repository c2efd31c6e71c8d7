"""Explanations that the numbers prove: a row that is another row, a distribution that was scaled,
answers that were swapped. What only looks likely is not named.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from checks.logprobs.compare.columns import difference
from checks.logprobs.compare.exchanged_rows import count_exchanged_rows
from checks.logprobs.compare.linear_causes import FEWEST_COLUMNS, count_lines
from checks.logprobs.compare.measure import REAL_DIVERGENCES, Grade, Measured
from checks.logprobs.compare.rows import Bools, LogprobRows
from checks.logprobs.compare.tally import ComparisonStats
from checks.logprobs.record import ABSENT, Floats, Ints, Record

# Nats; more than what rounding to a few digits on the way leaves of two equal numbers, or of one.
_TORN, _EXACT = 1e-3, 2e-5


def note_causes(
    tally: ComparisonStats,
    measured: Measured,
    pairs: Sequence[tuple[Record, Record]],
    tolerance: float,
) -> None:
    """Count the rows that each explanation explains."""
    over = np.flatnonzero((measured.grade == Grade.OVER) | (measured.grade == Grade.UNSURE))
    _count_zeros(tally, measured)
    _count_torn_rows(tally, measured)
    _count_small_constants(tally, measured)
    if len(over):
        _count_odd_numbers(tally, measured, over)
        count_lines(tally, measured, over, pairs, tolerance)
        count_exchanged_rows(tally, measured, over, [base.id for base, _ in pairs], tolerance)
    _mark_answers(tally, measured, over, pairs)


def _count_zeros(tally: ComparisonStats, measured: Measured) -> None:
    """llama.cpp#27972: a logprob of 0 for every token."""
    row = measured.row[measured.moved != 0]
    tally.counts["moved"] += len(row)
    tally.counts["zero-base"] += int((measured.base.logprobs[row] == 0).sum())
    tally.counts["zero-head"] += int((measured.head.logprobs[row] == 0).sum())


def _count_torn_rows(tally: ComparisonStats, measured: Measured) -> None:
    """Rows whose token has one logprob by itself and another one in the columns: they are of
    different rows.
    """
    for side, rows in (("base", measured.base), ("head", measured.head)):
        tally.counts[f"torn-{side}"] += _torn_rows(rows, measured.row)


def _torn_rows(rows: LogprobRows, searched: Ints) -> int:
    """How many of the `searched` rows have another logprob in the column of their own token."""
    torn = 0
    for ids, values in zip(rows.ids.T, rows.values.T, strict=True):
        here = ids[searched] == rows.tokens[searched]
        at = searched[here]
        known = ~np.isnan(rows.logprobs[at]) & ~np.isnan(values[at])
        apart = np.abs(difference(rows.logprobs[at], values[at]))
        torn += int((known & (apart > _TORN)).sum())
        # The first column of a token counts: an engine may give one twice (vLLM#47594).
        searched = searched[~here]
    return torn


def _count_small_constants(tally: ComparisonStats, measured: Measured) -> None:
    """Rows within the tolerance that moved as a whole, every column by the same."""
    columns, small = measured.columns, measured.grade == Grade.NOISE
    whole = small & (columns.count >= FEWEST_COLUMNS)
    whole[whole] = columns.high[whole] - columns.low[whole] < _EXACT
    whole &= np.abs(columns.high) > _TORN
    tally.counts["whole"] += int(whole.sum())
    tally.counts["whole-up"] += int((whole & (columns.high > 0)).sum())


def _count_odd_numbers(tally: ComparisonStats, measured: Measured, over: Ints) -> None:
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


def _mark_answers(
    tally: ComparisonStats, measured: Measured, over: Ints, pairs: Sequence[tuple[Record, Record]]
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
