"""Pairs of records go in, and a tally of what differs comes out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from checks.logprobs.compare import acceptance
from checks.logprobs.compare.causes import note_causes
from checks.logprobs.compare.comparable import conflicts, name_origins, same_drafting
from checks.logprobs.compare.measure import REAL_SPLITS, Grade, Measured, Requests, Split, aligned, measure
from checks.logprobs.compare.padding import Padding, Stripped, strip
from checks.logprobs.compare.rows import rows_of, units
from checks.logprobs.compare.tally import SHOWN, STEP_PLACES, Tally, Worst, binned, place_of
from checks.logprobs.record import ABSENT, Ints, Record

Pair: TypeAlias = tuple[Record, Record]

NOISE_ULPS = 2.0
"""Ulps of the logits' dtype that two runs may be apart without an A/A run that says otherwise."""


class Collector:
    """Adds pairs of records, base and head of the same request, to `tally`.

    tolerance: ulps, 2 or what an A/A run asks for. calibrated: whether it is from an A/A run, which then also says
    how large an ulp is taken to be where the records do not.
    """

    def __init__(self, tolerance: float = NOISE_ULPS, *, calibrated: bool = False) -> None:
        self.tally = Tally()
        self._tolerance = tolerance
        self._calibrated = calibrated

    def add(self, pairs: Sequence[Pair]) -> None:
        """Compare these requests. Pairs that are not comparable are counted, and not compared."""
        tally = self.tally
        fit: list[Pair] = []
        for base, head in pairs:
            against = conflicts(base, head)
            tally.conflicts.update(against)
            name_origins(tally, base, head)
            if against:
                tally.name("conflict", [base.id])
            else:
                fit.append((base, head))
        if fit:
            self._add(fit)

    def only(self, side: str, record: Record) -> None:
        """A request that the other side lacks; `side` is `base` or `head`."""
        self.tally.counts[f"only-{side}"] += 1
        self.tally.name(f"only-{side}", [record.id])

    def _add(self, pairs: list[Pair]) -> None:
        base, head = (strip(rows_of([pair[side] for pair in pairs])) for side in (0, 1))
        names = [pair[0].id for pair in pairs]
        self.tally.counts["pairs"] += len(pairs)
        for side, stripped, records in (("base", base, 0), ("head", head, 1)):
            self._count_side(side, stripped, [pair[records] for pair in pairs])
        uneven = base.rows.lengths != head.rows.lengths
        shared_base, shared_head = aligned(base.rows, head.rows)
        least, most = units(shared_base, shared_head, [b.origin.logits_dtype for b, _ in pairs])
        greedy = np.array([_greedy(b) for b, _ in pairs])
        requests = Requests(greedy, least, least if self._calibrated else most)
        measured = measure(shared_base, shared_head, requests, uneven, self._tolerance)
        note(self.tally, measured, names)
        note_causes(self.tally, measured, pairs, self._tolerance)
        drafted = [(b.accept_num, h.accept_num) for b, h in pairs if same_drafting(b, h)]
        steps = [(b, h) for b, h in drafted if b is not None and h is not None]
        self.tally.counts["other-drafting"] += len(pairs) - len(drafted)
        self.tally.accepted = self.tally.accepted + acceptance.count(steps)

    def _count_side(self, side: str, stripped: Stripped, records: list[Record]) -> None:
        counts = self.tally.counts
        counts[f"rows-{side}"] += len(stripped.kind)
        for kind in Padding:
            found = int((stripped.kind == kind).sum())
            if kind and found:
                counts[f"padding-{side}-{kind.name.lower().replace('_', '-')}"] += found
        at = np.flatnonzero(stripped.kind)[:SHOWN]
        if len(at):
            start = np.cumsum([0, *(len(r) for r in records)])
            of = np.searchsorted(start, at, side="right") - 1
            self.tally.keep(
                f"padding-{side}",
                [_padded(records[r], int(i - start[r]), int(stripped.kind[i])) for r, i in zip(of, at, strict=True)],
            )
        counts[f"ragged-{side}"] += int((stripped.rows.ids[:, -1:] == ABSENT).sum()) - sum(
            len(r) for r in records if not r.k and stripped.rows.k
        )


def _greedy(record: Record) -> bool:
    """Whether nothing was drawn. A record that does not say is taken for greedy: then no draw is an excuse."""
    return record.sampling.get("temperature") in (0, None) or record.sampling.get("top_k") == 1


def _padded(record: Record, position: int, kind: int) -> Worst:
    name = Padding(kind).name.lower().replace("_", "-")
    value = float(record.logprobs[position])
    token = int(record.tokens[position])
    return Worst(0.0, record.id, position, name, token, value, value, 0.0, token, token)


def note(tally: Tally, measured: Measured, names: Sequence[str]) -> None:
    """Count what was measured, request by request; `names` [R] are the requests' ids."""
    counts, grade = tally.counts, measured.grade
    counts["rows"] += len(grade)
    for name, found in zip((g.name.lower() for g in Grade), np.bincount(grade, minlength=len(Grade)), strict=True):
        counts[name] += int(found)
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
    place = measured.base.place[measured.row]
    tally.places.add(place_of(measured.base.position[measured.row]), measured.ulps, over)
    known = place >= 0
    tally.step_places.add(np.minimum(place[known], STEP_PLACES - 1), measured.ulps[known], over[known])
    _note_splits(tally, measured, names)
    _note_signs(tally, measured, size)
    _note_ranks(tally, measured, names)
    _note_worst(tally, measured, names)


def _distinct(requests: Ints) -> int:
    return len(np.unique(requests))


def _note_splits(tally: Tally, measured: Measured, names: Sequence[str]) -> None:
    for kind, found in zip(Split, np.bincount(measured.split, minlength=len(Split)), strict=True):
        if kind:
            tally.counts[f"split-{kind.name.lower().replace('_', '-')}"] += int(found)
    tally.counts["requests-real"] += int(np.isin(measured.split, REAL_SPLITS).sum())
    base, head = measured.base, measured.head
    found = []
    for r in np.flatnonzero(measured.split):
        row = int(measured.split_row[r])
        kind = Split(int(measured.split[r])).name.lower().replace("_", "-")
        real = 0.0 if measured.split[r] in REAL_SPLITS else 1.0
        if row < 0:
            length = int(base.lengths[r])
            found.append(Worst(real, names[r], length, kind, -1, np.nan, np.nan, np.nan, -1, -1))
            continue
        gap, unit = float(measured.gap[r]), _unit_at(measured, row)
        tokens = int(base.tokens[row]), int(head.tokens[row])
        found.append(
            Worst(real, names[r], int(base.position[row]), kind, tokens[0], float(base.logprobs[row]),
                  float(head.logprobs[row]), gap / unit, *tokens)
        )  # fmt: skip
    tally.keep("split", found)


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
    tally.counts["ranked"] += int(((base.ranks[shown] > 0) & (head.ranks[shown] > 0)).sum())
    bad = np.flatnonzero(measured.rank)
    tally.counts["rank"] += len(bad)
    deltas, found = np.unique(measured.rank[bad], return_counts=True)
    tally.ranks.update(dict(zip(deltas.tolist(), found.tolist(), strict=True)))
    order = bad[np.argsort(-np.abs(measured.rank[bad]), kind="stable")[:SHOWN]]
    examples = []
    for n in order:
        row, token = int(shown[n]), int(base.tokens[shown[n]])
        ranks = float(base.ranks[row]), float(head.ranks[row])
        first = -float(abs(measured.rank[n]))
        name = names[measured.request[n]]
        examples.append(Worst(first, name, int(base.position[row]), "rank", token, *ranks, 0.0, token, token))
    tally.keep("rank", examples)


def _note_worst(tally: Tally, measured: Measured, names: Sequence[str]) -> None:
    differ = np.flatnonzero(measured.grade >= Grade.NOISE)
    if not len(differ):
        return
    least = np.sort(measured.ulps[differ])[-min(SHOWN, len(differ))]
    chosen = differ[measured.ulps[differ] >= least][: 4 * SHOWN]
    tally.keep("worst", [_worst(measured, int(n), names) for n in chosen])


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
        token = int(columns.worst[n])
    values = _value(base.ids[row], base.values[row], token), _value(head.ids[row], head.values[row], token)
    if kind == "value" and of_chosen >= of_columns:
        values = float(base.logprobs[row]), float(head.logprobs[row])
    name = names[measured.request[n]]
    return Worst(-ulps, name, int(base.position[row]), kind, token, *values, ulps, *chosen)


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
