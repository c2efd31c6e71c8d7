"""Rows of head that are another row of base: a row that was taken from the wrong place."""

from __future__ import annotations

import numpy as np

from checks.logprobs.compare.linear_causes import FEWEST_COLUMNS
from checks.logprobs.compare.measure import Measured
from checks.logprobs.compare.tally import ComparisonStats
from checks.logprobs.record import Ints


def count_exchanged_rows(
    tally: ComparisonStats, measured: Measured, over: Ints, names: list[str], tolerance: float
) -> None:
    """Count the rows among `over` with the ids of another row in the same order, and with its
    values within the tolerance. `names` are the requests' ids."""
    base, head = measured.base, measured.head
    shared = min(base.k, head.k)
    if shared < FEWEST_COLUMNS:
        return
    row, request = measured.row[over], measured.request[over]
    wanted = _signature(head.ids[row, :shared])
    own = _signature(base.ids[:, :shared])
    of_request = np.repeat(np.arange(len(base.lengths)), base.lengths)
    # A row of the same request is a better explanation than one of another.
    inside = _nearest(_with(wanted, request), _with(own, of_request), row)
    anywhere = np.where(inside >= 0, inside, _nearest(wanted, own, row))
    hit = np.flatnonzero((anywhere >= 0) & (anywhere != row))
    with np.errstate(invalid="ignore"):
        apart = np.abs(head.values[row[hit], :shared] - base.values[anywhere[hit], :shared])
    equal = (apart <= tolerance * measured.unit[over[hit], None]) | np.isnan(apart)
    hit = hit[equal.all(axis=1)]
    source, at = anywhere[hit], row[hit]
    own_request = of_request[source] == request[hit]
    offsets, counts = np.unique((source - at)[own_request], return_counts=True)
    for offset, count in zip(offsets.tolist(), counts.tolist(), strict=True):
        tally.rows_of[f"{offset:+d}"] += count
    tally.rows_of["other"] += int((~own_request).sum())
    requests = np.stack([request[hit], of_request[source]])[:, ~own_request]
    swaps = np.unique(requests, axis=1).T.tolist()
    tally.name("rows-of-other", [f"{names[mine]} ← {names[other]}" for mine, other in swaps])


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


def _nearest(wanted: Ints, known: Ints, row: Ints) -> Ints:
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
