"""Counts what was measured into a tally, and keeps the worst rows as examples."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from checks.logprobs.compare.columns import difference
from checks.logprobs.compare.measure import REAL_DIVERGENCES, Divergence, Grade, Measured
from checks.logprobs.compare.rows import LogprobRows
from checks.logprobs.compare.tally import (
    SHOWN,
    STEP_PLACES,
    ComparisonStats,
    WorstRow,
    binned,
    place_of,
)
from checks.logprobs.record import ABSENT, Ints

_GRADES = tuple(grade.name.lower() for grade in Grade)
_SPLITS = ("", *(kind.name.lower().replace("_", "-") for kind in Divergence if kind))


def annotate(tally: ComparisonStats, measured: Measured, names: Sequence[str]) -> None:
    """Count what was measured into the tally; `names` [R] are the requests' ids."""
    tally.widths[measured.base.k, measured.head.k] += len(names)
    _count_grades(tally, measured)
    _count_ulps(tally, measured, len(names))
    _count_places(tally, measured)
    _count_splits(tally, measured, names)
    _count_signs(tally, measured, len(names))
    _count_ranks(tally, measured, names)
    _keep_worst(tally, measured, names)


def _count_grades(tally: ComparisonStats, measured: Measured) -> None:
    """Rows by their grade, and the requests in which there is one that is no good."""
    counts, grade = tally.counts, measured.grade
    counts["rows"] += len(grade)
    rows_of_grade = np.bincount(grade, minlength=len(_GRADES)).tolist()
    for name, rows in zip(_GRADES, rows_of_grade, strict=True):
        counts[name] += rows
    counts["requests-over"] += _count_distinct(measured.request[grade == Grade.OVER])
    counts["requests-rank"] += _count_distinct(measured.request[measured.rank != 0])
    counts["requests-differ"] += _count_distinct(measured.request[grade != Grade.EQUAL])
    counts["unsorted"] += _count_unsorted(measured)


def _count_ulps(tally: ComparisonStats, measured: Measured, size: int) -> None:
    """How far rows are apart, and how far the worst row of each request is."""
    bins = len(tally.ulps)
    tally.ulps += np.bincount(binned(measured.ulps), minlength=bins)
    largest = np.zeros(size)
    np.maximum.at(largest, measured.request, measured.ulps)
    tally.request_ulps += np.bincount(binned(largest), minlength=bins)
    tally.most = max(tally.most, float(largest.max(initial=0.0)))


def _count_places(tally: ComparisonStats, measured: Measured) -> None:
    """Differences by the place in the text, and in the step where the steps are known."""
    over = (measured.grade == Grade.OVER).astype(np.int64)
    position = measured.base.position[measured.row]
    tally.places.add(place_of(position), measured.ulps, over)
    place = measured.base.place[measured.row]
    known = place >= 0
    capped = np.minimum(place[known], STEP_PLACES - 1)
    tally.step_places.add(capped, measured.ulps[known], over[known])


def _count_unsorted(measured: Measured) -> int:
    """Rows in another order in which not only ties changed places."""
    at = measured.row[measured.grade == Grade.REORDERED]
    if not len(at):
        return 0
    falling = np.ones(len(at), np.bool_)
    for side in (measured.base, measured.head):
        values = np.where(side.ids[at] == side.tokens[at, None], np.nan, side.values[at])
        with np.errstate(invalid="ignore"):
            falling &= ~(np.diff(values, axis=1) > 0).any(axis=1)
    return int((~falling).sum())


def _count_distinct(requests: Ints) -> int:
    """How many different numbers there are among rising ones."""
    return int(np.count_nonzero(np.diff(requests, prepend=-1)))


def _count_splits(tally: ComparisonStats, measured: Measured, names: Sequence[str]) -> None:
    """Requests that went on with other tokens, by the reason; real ones are shown first."""
    requests_of_kind = np.bincount(measured.split, minlength=len(Divergence)).tolist()
    for kind, requests in zip(_SPLITS, requests_of_kind, strict=True):
        if requests and kind:
            tally.counts[f"split-{kind}"] += requests
    tally.counts["requests-real"] += sum(requests_of_kind[kind] for kind in REAL_DIVERGENCES)
    order = []
    for request, kind in enumerate(measured.split.tolist()):
        if kind != Divergence.NONE:
            order.append((kind not in REAL_DIVERGENCES, names[request], request))
    examples = []
    for is_harmless, name, request in sorted(order)[:SHOWN]:
        examples.append(_split(measured, request, name, float(is_harmless)))
    tally.keep("split", examples)


def _split(measured: Measured, request: int, name: str, first: float) -> WorstRow:
    base, head, row = measured.base, measured.head, int(measured.split_row[request])
    kind = _SPLITS[measured.split[request]]
    if row < 0:
        length = int(base.lengths[request])
        # One of the two ends: there is no token to show.
        return WorstRow(first, name, length, kind, -1, np.nan, np.nan, np.nan, -1, -1)
    gap = float(measured.gap[request]) / _unit_at(measured, row)
    tokens = int(base.tokens[row]), int(head.tokens[row])
    values = float(base.logprobs[row]), float(head.logprobs[row])
    return WorstRow(first, name, int(base.position[row]), kind, tokens[0], *values, gap, *tokens)


def _unit_at(measured: Measured, row: int) -> float:
    return float(measured.unit[np.searchsorted(measured.row, row)])


def _count_signs(tally: ComparisonStats, measured: Measured, size: int) -> None:
    """Rounding goes up as often as down. Half an ulp or more of the chosen token is counted, a
    request together.
    """
    is_half_ulp = np.abs(measured.moved) >= measured.unit / 2
    small = (measured.grade == Grade.NOISE) & is_half_ulp
    sign = np.sign(measured.moved[small]).astype(np.int64)
    summed = np.bincount(measured.request[small], weights=sign, minlength=size).astype(np.int64)
    counts = tally.counts
    counts["sign-up"] += int((sign > 0).sum())
    counts["sign-down"] += int((sign < 0).sum())
    counts["sign-sum"] += int(summed.sum())
    counts["sign-square"] += int((summed * summed).sum())
    one = np.abs(np.abs(measured.moved[small]) / measured.unit[small] - 1) < 0.1
    counts["sign-one-ulp"] += int(one.sum())


def _count_ranks(tally: ComparisonStats, measured: Measured, names: Sequence[str]) -> None:
    """Ranks that neither noise nor ties explain, and by how much they are off."""
    rows = measured.row
    ranked = (measured.base.ranks[rows] >= 0) & (measured.head.ranks[rows] >= 0)
    tally.counts["ranked"] += int(ranked.sum())
    wrong = np.flatnonzero(measured.rank)
    tally.counts["rank"] += len(wrong)
    tally.ranks.update(measured.rank[wrong].tolist())
    farthest_first = np.argsort(-np.abs(measured.rank[wrong]), kind="stable")
    shown = wrong[farthest_first[:SHOWN]]
    tally.keep("rank", [_rank_example(measured, n, names) for n in shown.tolist()])


def _rank_example(measured: Measured, n: int, names: Sequence[str]) -> WorstRow:
    base, head, row = measured.base, measured.head, int(measured.row[n])
    token = int(base.tokens[row])
    return WorstRow(
        first=-float(abs(measured.rank[n])),
        request=names[measured.request[n]],
        position=int(base.position[row]),
        kind="rank",
        token=token,
        base=float(base.ranks[row]),
        head=float(head.ranks[row]),
        ulps=0.0,
        chosen_base=token,
        chosen_head=token,
    )


def _keep_worst(tally: ComparisonStats, measured: Measured, names: Sequence[str]) -> None:
    """Keep the rows that are furthest apart."""
    differ = np.flatnonzero(measured.grade >= Grade.NOISE)
    if not len(differ):
        return
    least = np.sort(measured.ulps[differ])[-min(SHOWN, len(differ))]
    chosen = differ[measured.ulps[differ] >= least][: 4 * SHOWN]
    known = tally.examples.get("worst", [])
    examples = []
    for n in chosen.tolist():
        if len(known) < SHOWN or _before(measured, n, names, known[-1]):
            examples.append(_worst(measured, n, names))
    tally.keep("worst", examples)


def _before(measured: Measured, n: int, names: Sequence[str], last: WorstRow) -> bool:
    """Whether a row may be among the examples of which `last` is the last."""
    position = int(measured.base.position[measured.row[n]])
    mine = -float(measured.ulps[n]), names[measured.request[n]], position
    return mine <= (last.first, last.request, last.position)


def _worst(measured: Measured, n: int, names: Sequence[str]) -> WorstRow:
    """The example of row `n`: the token that makes the difference, with its two values."""
    base, head, row = measured.base, measured.head, int(measured.row[n])
    columns = measured.columns
    of_columns = max(-columns.low[n], columns.high[n])
    of_chosen = abs(float(measured.moved[n]))
    kind, token = "value", int(base.tokens[row])
    if columns.lost[n] > max(of_columns, of_chosen):
        kind, token = "missing", _lost_id(measured, row)
    elif of_columns > of_chosen:
        token = _furthest(base, head, row)
    if kind == "value" and of_chosen >= of_columns:
        of_base, of_head = float(base.logprobs[row]), float(head.logprobs[row])
    else:
        of_base, of_head = _value(base, row, token), _value(head, row, token)
    ulps = float(measured.ulps[n])
    return WorstRow(
        first=-ulps,
        request=names[measured.request[n]],
        position=int(base.position[row]),
        kind=kind,
        token=token,
        base=of_base,
        head=of_head,
        ulps=ulps,
        chosen_base=int(base.tokens[row]),
        chosen_head=int(head.tokens[row]),
    )


def _furthest(base: LogprobRows, head: LogprobRows, row: int) -> int:
    """The id on both sides that differs most."""
    ids, of_base, of_head = np.intersect1d(base.ids[row], head.ids[row], return_indices=True)
    apart = np.abs(difference(base.values[row, of_base], head.values[row, of_head]))
    return int(ids[np.where(ids == ABSENT, -1.0, apart).argmax()])


def _value(rows: LogprobRows, row: int, token: int) -> float:
    """The value of a token in the columns of a row, NaN where it is in none."""
    columns = np.flatnonzero(rows.ids[row] == token)
    return float(rows.values[row][columns[0]]) if len(columns) else float("nan")


def _lost_id(measured: Measured, row: int) -> int:
    """The best id that one side alone has."""
    base, head = measured.base, measured.head
    best, found = -np.inf, ABSENT
    for mine, other in ((base, head), (head, base)):
        for token, value in zip(mine.ids[row].tolist(), mine.values[row].tolist(), strict=True):
            if token != ABSENT and value > best and token not in other.ids[row]:
                best, found = value, token
    return int(found)
