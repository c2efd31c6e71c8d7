"""How far the rows of two sides are apart, request by request, up to the first token that differs.

After that token the two have read different texts, and their rows have nothing to do with each
other.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from checks.logprobs.compare.columns import Columns, compare_columns, difference
from checks.logprobs.compare.rows import Bools, LogprobRows, ramps, starts
from checks.logprobs.record import Floats, Ints

# A gap between two tokens at which noise may turn them round, as a multiple of the tolerance: 3 ulp
# for 2.
_NEAR = 1.5


class Grade(IntEnum):
    """What is to be said of one pair of rows; a larger number is worse."""

    EQUAL = 0
    REORDERED = 1  # every value is equal, and tokens that are tied stand in another order
    NOISE = 2  # within the tolerance
    # within it for large logits of a coarse dtype only, and the record does not say which they were
    UNSURE = 3
    OVER = 4


class Divergence(IntEnum):
    """Why two requests go on with different tokens. The last three are no rounding."""

    NONE = 0
    NEAR_TIE = 1  # both sides see the two tokens within three ulp
    DRAWN = 2  # a random draw, and the logprobs before it were not bit for bit equal
    UNKNOWN = 3  # the other side's token is in no column
    REAL = 4
    DRAWN_EQUAL = 5  # another draw from logprobs that are bit for bit equal
    LENGTH = 6  # one of them ends


REAL_DIVERGENCES = (Divergence.REAL, Divergence.DRAWN_EQUAL, Divergence.LENGTH)


@dataclass(frozen=True, slots=True)
class Requests:
    """What is known of R requests besides their rows."""

    greedy: Bools  # [R]
    least: Floats  # [N base rows] one ulp of the logits, at least
    most: Floats  # [N base rows] and at most; equal where it is known


@dataclass(frozen=True, slots=True)
class Measured:
    """N compared rows of R requests. `row` is into `base` and `head`, which are aligned."""

    base: LogprobRows
    head: LogprobRows
    request: Ints  # [N]
    row: Ints  # [N]
    grade: Ints  # [N] of `Grade`
    ulps: Floats  # [N] largest difference in ulps of the logits
    moved: Floats  # [N] head - base of the chosen token, in nats
    rank: Ints  # [N] head - base where neither noise nor ties explain it, else 0
    columns: Columns  # of those N rows
    unit: Floats  # [N]
    split: Ints  # [R] of `Divergence`
    split_row: Ints  # [R] row of the first token that differs, -1 without one
    gap: Floats  # [R] nats between the two tokens there, NaN where it is not known


def aligned(base: LogprobRows, head: LogprobRows) -> tuple[LogprobRows, LogprobRows]:
    """Both sides cut to the rows that each of their requests has on either."""
    shared = np.minimum(base.lengths, head.lengths)
    start = starts(shared)
    return tuple(  # type: ignore[return-value]
        side
        if len(side) == start[-1]
        else side.take(np.repeat(side.start[:-1], shared) + ramps(shared), start)
        for side in (base, head)
    )


def measure(
    base: LogprobRows, head: LogprobRows, requests: Requests, uneven: Bools, tolerance: float
) -> Measured:
    """Compare aligned rows. `uneven` [R] are requests that went on at one side; `tolerance` is in
    ulps.
    """
    lengths = base.lengths
    request = np.repeat(np.arange(len(lengths)), lengths)
    first = _first_other(base, head, request)
    row = np.flatnonzero(np.arange(len(base)) <= first[request])
    request = request[row]
    at_split = row == first[request]
    whole = len(row) == len(base)
    shown_base, shown_head = (
        side if whole else side.take(row, side.start) for side in (base, head)
    )
    least, most = requests.least[row], requests.most[row]

    columns = compare_columns(shown_base, shown_head)
    moved = np.where(at_split, 0.0, difference(shown_base.logprobs, shown_head.logprobs))
    apart = np.fmax(np.fmax(-columns.low, columns.high), np.abs(moved))
    apart = np.maximum(apart, columns.lost) + 0.0  # no -0
    rank = np.where(at_split, 0, _ranks(shown_base, shown_head, apart, least * tolerance))
    grade = np.full(len(row), Grade.EQUAL, np.int64)
    grade[columns.other_order] = Grade.REORDERED
    grade[apart > 0] = Grade.NOISE
    grade[apart > tolerance * least] = Grade.UNSURE
    grade[apart > tolerance * most] = Grade.OVER

    split_row = np.where(first < base.start[1:], first, -1)
    changed = np.zeros(len(lengths), np.bool_)
    changed[request[grade != Grade.EQUAL]] = True
    split, gap = _splits(base, head, split_row, requests, changed, tolerance)
    split[(split_row < 0) & uneven] = Divergence.LENGTH
    return Measured(
        base=base,
        head=head,
        request=request,
        row=row,
        grade=grade,
        ulps=apart / least,
        moved=moved,
        rank=rank,
        columns=columns,
        unit=least,
        split=split,
        split_row=split_row,
        gap=gap,
    )


def _first_other(base: LogprobRows, head: LogprobRows, request: Ints) -> Ints:
    """[R] row of each request's first token that differs, the end of its rows where none does."""
    first = base.start[1:].copy()
    other = np.flatnonzero(base.tokens != head.tokens)
    np.minimum.at(first, request[other], other)
    return first


def _ranks(base: LogprobRows, head: LogprobRows, apart: Floats, noise: Floats) -> Ints:
    """Head's rank minus base's, 0 where as many tokens stand close enough to have passed the chosen
    one.

    How many stand there is known among the columns only: below them a rank is held to account where
    all else is equal.
    """
    moved = np.where((base.ranks >= 0) & (head.ranks >= 0), head.ranks - base.ranks, 0)
    at = np.flatnonzero(moved)
    if not len(at):
        return moved
    window = np.where(apart[at] > 0, 2 * noise[at], 0.0)
    close = np.maximum(_close(base, at, window), _close(head, at, window))
    below = np.minimum(base.ranks[at], head.ranks[at]) > min(base.k, head.k)
    moved[at] = np.where((np.abs(moved[at]) <= close) | (below & (apart[at] > 0)), 0, moved[at])
    return moved


def _close(rows: LogprobRows, at: Ints, window: Floats) -> Ints:
    """Tokens other than the chosen one within `window` of it, among the columns."""
    with np.errstate(invalid="ignore"):
        near = np.abs(rows.values[at] - rows.logprobs[at, None]) <= window[:, None]
    return np.asarray((near & (rows.ids[at] != rows.tokens[at, None])).sum(axis=1))


def _splits(
    base: LogprobRows,
    head: LogprobRows,
    split_row: Ints,
    requests: Requests,
    changed: Bools,
    tolerance: float,
) -> tuple[Ints, Floats]:
    """`Divergence` and the gap of each request."""
    split, gap = np.full(len(split_row), Divergence.NONE, np.int64), np.full(len(split_row), np.nan)
    which = np.flatnonzero(split_row >= 0)
    row = split_row[which]
    of_base, least_base = _gap(base, head, row)
    of_head, least_head = _gap(head, base, row)
    seen = np.fmax(np.abs(of_base), np.abs(of_head))
    bound = np.fmax(least_base, least_head)
    near = _NEAR * tolerance * requests.most[row]
    both = np.exp(base.logprobs[row]) + np.exp(head.logprobs[row])
    far = np.abs(difference(base.logprobs[row], head.logprobs[row]))
    kind = np.where(
        np.isnan(seen),
        Divergence.UNKNOWN,
        np.where(seen <= near, Divergence.NEAR_TIE, Divergence.REAL),
    )
    # A token outside of the columns is at least that far below the last one, and two ties share a
    # probability.
    kind[np.isnan(seen) & ((bound > near) | (far > near) | (both > np.exp(near)))] = Divergence.REAL
    drawn = ~requests.greedy[which]
    kind[drawn] = np.where(changed[which][drawn], Divergence.DRAWN, Divergence.DRAWN_EQUAL)
    split[which], gap[which] = kind, seen
    return split, gap


def _gap(rows: LogprobRows, other: LogprobRows, at: Ints) -> tuple[Floats, Floats]:
    """The chosen token's logprob minus that of the other side's, in `rows`; NaN, and a lower bound,
    where it is in no column.
    """
    own = rows.logprobs[at]
    if not rows.k:
        return np.full(len(at), np.nan), np.full(len(at), -np.inf)
    here = rows.ids[at] == other.tokens[at, None]
    value = np.take_along_axis(rows.values[at], here.argmax(axis=1)[:, None], axis=1)[:, 0]
    with np.errstate(invalid="ignore"):
        gap = np.where(here.any(axis=1), own - value, np.nan)
        bound = own - np.fmin.reduce(rows.values[at], axis=1)
    return gap, np.where(np.isnan(gap), np.nan_to_num(bound, nan=-np.inf), -np.inf)
