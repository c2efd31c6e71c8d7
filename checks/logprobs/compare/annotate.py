"""What was measured, counted into a tally."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from checks.logprobs.compare.columns import difference
from checks.logprobs.compare.measure import REAL_SPLITS, Grade, Measured, Split
from checks.logprobs.compare.rows import Rows
from checks.logprobs.compare.tally import SHOWN, STEP_PLACES, Tally, Worst, binned, place_of
from checks.logprobs.record import ABSENT, Ints

_REAL = frozenset(map(int, REAL_SPLITS))
_GRADES = tuple(grade.name.lower() for grade in Grade)
_SPLITS = ("", *(kind.name.lower().replace("_", "-") for kind in Split if kind))


def note(tally: Tally, measured: Measured, names: Sequence[str]) -> None:
    """Count what was measured, request by request; `names` [R] are the requests' ids."""
    counts, grade = tally.counts, measured.grade
    counts["rows"] += len(grade)
    for name, found in zip(
        _GRADES, np.bincount(grade, minlength=len(_GRADES)).tolist(), strict=True
    ):
        counts[name] += found
    tally.widths[measured.base.k, measured.head.k] += len(names)
    size = len(names)
    tally.ulps += np.bincount(binned(measured.ulps), minlength=len(tally.ulps))
    largest = np.zeros(size)
    np.maximum.at(largest, measured.request, measured.ulps)
    tally.request_ulps += np.bincount(binned(largest), minlength=len(tally.ulps))
    tally.most = max(tally.most, float(largest.max(initial=0.0)))

    over = (grade == Grade.OVER).astype(np.int64)
    counts["requests-over"] += _distinct(measured.request[over > 0])
    counts["requests-rank"] += _distinct(measured.request[measured.rank != 0])
    counts["requests-differ"] += _distinct(measured.request[grade != Grade.EQUAL])
    counts["unsorted"] += _unsorted(measured)
    place = measured.base.place[measured.row]
    tally.places.add(place_of(measured.base.position[measured.row]), measured.ulps, over)
    known = place >= 0
    tally.step_places.add(
        np.minimum(place[known], STEP_PLACES - 1), measured.ulps[known], over[known]
    )
    _note_splits(tally, measured, names)
    _note_signs(tally, measured, size)
    _note_ranks(tally, measured, names)
    _note_worst(tally, measured, names)


def _unsorted(measured: Measured) -> int:
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


def _distinct(requests: Ints) -> int:
    """How many different numbers there are among rising ones."""
    return int(np.count_nonzero(np.diff(requests, prepend=-1)))


def _note_splits(tally: Tally, measured: Measured, names: Sequence[str]) -> None:
    found = np.bincount(measured.split, minlength=len(Split)).tolist()
    for kind, requests in zip(_SPLITS, found, strict=True):
        if requests and kind:
            tally.counts[f"split-{kind}"] += requests
    tally.counts["requests-real"] += sum(found[kind] for kind in REAL_SPLITS)
    split = measured.split.tolist()
    order = sorted((kind not in _REAL, names[r], r) for r, kind in enumerate(split) if kind)
    tally.keep(
        "split", [_split(measured, r, names[r], float(near)) for near, _, r in order[:SHOWN]]
    )


def _split(measured: Measured, request: int, name: str, first: float) -> Worst:
    base, head, row = measured.base, measured.head, int(measured.split_row[request])
    kind = _SPLITS[measured.split[request]]
    if row < 0:
        length = int(base.lengths[request])
        return Worst(first, name, length, kind, -1, np.nan, np.nan, np.nan, -1, -1)
    gap = float(measured.gap[request]) / _unit_at(measured, row)
    tokens = int(base.tokens[row]), int(head.tokens[row])
    values = float(base.logprobs[row]), float(head.logprobs[row])
    return Worst(first, name, int(base.position[row]), kind, tokens[0], *values, gap, *tokens)


def _unit_at(measured: Measured, row: int) -> float:
    return float(measured.unit[np.searchsorted(measured.row, row)])


def _note_signs(tally: Tally, measured: Measured, size: int) -> None:
    """Rounding goes up as often as down. Half an ulp or more of the chosen token is counted, a request together."""
    small = (measured.grade == Grade.NOISE) & (np.abs(measured.moved) >= measured.unit / 2)
    sign = np.sign(measured.moved[small]).astype(np.int64)
    summed = np.bincount(measured.request[small], weights=sign, minlength=size).astype(np.int64)
    counts = tally.counts
    counts["sign-up"] += int((sign > 0).sum())
    counts["sign-down"] += int((sign < 0).sum())
    counts["sign-sum"] += int(summed.sum())
    counts["sign-square"] += int((summed * summed).sum())
    one = np.abs(np.abs(measured.moved[small]) / measured.unit[small] - 1) < 0.1
    counts["sign-one-ulp"] += int(one.sum())


def _note_ranks(tally: Tally, measured: Measured, names: Sequence[str]) -> None:
    base, head = measured.base, measured.head
    shown = measured.row
    tally.counts["ranked"] += int(((base.ranks[shown] >= 0) & (head.ranks[shown] >= 0)).sum())
    bad = np.flatnonzero(measured.rank)
    tally.counts["rank"] += len(bad)
    tally.ranks.update(measured.rank[bad].tolist())
    order = bad[np.argsort(-np.abs(measured.rank[bad]), kind="stable")[:SHOWN]]
    examples = []
    for n in order:
        row, token = int(shown[n]), int(base.tokens[shown[n]])
        ranks = float(base.ranks[row]), float(head.ranks[row])
        first = -float(abs(measured.rank[n]))
        name = names[measured.request[n]]
        examples.append(
            Worst(first, name, int(base.position[row]), "rank", token, *ranks, 0.0, token, token)
        )
    tally.keep("rank", examples)


def _note_worst(tally: Tally, measured: Measured, names: Sequence[str]) -> None:
    differ = np.flatnonzero(measured.grade >= Grade.NOISE)
    if not len(differ):
        return
    least = np.sort(measured.ulps[differ])[-min(SHOWN, len(differ))]
    chosen = differ[measured.ulps[differ] >= least][: 4 * SHOWN]
    known = tally.examples.get("worst", [])
    found = [
        n for n in chosen.tolist() if len(known) < SHOWN or _before(measured, n, names, known[-1])
    ]
    tally.keep("worst", [_worst(measured, n, names) for n in found])


def _before(measured: Measured, n: int, names: Sequence[str], last: Worst) -> bool:
    """Whether a row may be among the examples of which `last` is the last."""
    position = int(measured.base.position[measured.row[n]])
    mine = -float(measured.ulps[n]), names[measured.request[n]], position
    return mine <= (last.first, last.request, last.position)


def _worst(measured: Measured, n: int, names: Sequence[str]) -> Worst:
    base, head, row = measured.base, measured.head, int(measured.row[n])
    chosen = int(base.tokens[row]), int(head.tokens[row])
    ulps = float(measured.ulps[n])
    columns = measured.columns
    of_columns = max(-columns.low[n], columns.high[n])
    of_chosen = abs(float(measured.moved[n]))
    kind, token = "value", chosen[0]
    if columns.lost[n] > max(of_columns, of_chosen):
        kind, token = "missing", _lost_id(measured, row)
    elif of_columns > of_chosen:
        token = _furthest(base, head, row)
    values = (
        _value(base.ids[row], base.values[row], token),
        _value(head.ids[row], head.values[row], token),
    )
    if kind == "value" and of_chosen >= of_columns:
        values = float(base.logprobs[row]), float(head.logprobs[row])
    name = names[measured.request[n]]
    return Worst(-ulps, name, int(base.position[row]), kind, token, *values, ulps, *chosen)


def _furthest(base: Rows, head: Rows, row: int) -> int:
    """The id on both sides that differs most."""
    ids, of_base, of_head = np.intersect1d(base.ids[row], head.ids[row], return_indices=True)
    apart = np.abs(difference(base.values[row, of_base], head.values[row, of_head]))
    return int(ids[np.where(ids == ABSENT, -1.0, apart).argmax()])


def _value(ids: Ints, values: Ints, token: int) -> float:
    at = np.flatnonzero(ids == token)
    return float(values[at[0]]) if len(at) else float("nan")


def _lost_id(measured: Measured, row: int) -> int:
    """The best id that one side alone has."""
    base, head = measured.base, measured.head
    best, found = -np.inf, ABSENT
    for mine, other in ((base, head), (head, base)):
        for token, value in zip(mine.ids[row].tolist(), mine.values[row].tolist(), strict=True):
            if token != ABSENT and value > best and token not in other.ids[row]:
                best, found = value, token
    return int(found)
