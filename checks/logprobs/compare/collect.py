"""Pairs of records go in, and a tally of what differs comes out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from checks.logprobs.compare import acceptance
from checks.logprobs.compare.annotate import annotate
from checks.logprobs.compare.causes import note_causes
from checks.logprobs.compare.comparable import (
    conflicts,
    dtype,
    name_origins,
    same_drafting,
    temperature,
)
from checks.logprobs.compare.measure import Requests, aligned, measure
from checks.logprobs.compare.padding import KINDS, Stripped, strip
from checks.logprobs.compare.rows import rows_of, units
from checks.logprobs.compare.tally import SHOWN, Tally, Worst
from checks.logprobs.record import ABSENT, Record

Pair: TypeAlias = tuple[Record, Record]

NOISE_ULPS = 2.0
"""Ulps of the logits' dtype that two runs may be apart without an A/A run that says otherwise."""


class Collector:
    """Adds pairs of records, base and head of the same request, to `tally`.

    tolerance: ulps, 2 or what an A/A run asks for. calibrated: whether it is from an A/A run, which
    then also says how large an ulp is taken to be where the records do not.
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
            for name, of_base, of_head in against:
                tally.conflicts[name] += 1
                tally.say(f"conflict-{name}", [(of_base, of_head)])
            if against:
                tally.name("conflict", [base.id])
            else:
                fit.append((base, head))
        for origins in dict.fromkeys((base.origin, head.origin) for base, head in pairs):
            name_origins(tally, *origins)
        if fit:
            self._add(fit)

    def only(self, side: str, record: Record) -> None:
        """A request that the other side lacks; `side` is `base` or `head`."""
        self.tally.counts[f"only-{side}"] += 1
        self.tally.name(f"only-{side}", [record.id])

    def _add(self, pairs: list[Pair]) -> None:
        other_length = np.array([len(b) != len(h) for b, h in pairs])
        base, head = (
            strip(rows_of([pair[side] for pair in pairs]), other_length) for side in (0, 1)
        )
        names = [pair[0].id for pair in pairs]
        self.tally.counts["pairs"] += len(pairs)
        for side, stripped, records in (("base", base, 0), ("head", head, 1)):
            self._count_side(side, stripped, [pair[records] for pair in pairs])
        uneven = base.rows.lengths != head.rows.lengths
        shared_base, shared_head = aligned(base.rows, head.rows)
        least, most = units(shared_base, shared_head, [dtype(b, h) for b, h in pairs])
        greedy = np.array([temperature(b, h) == 0 for b, h in pairs])
        requests = Requests(greedy, least, least if self._calibrated else most)
        measured = measure(shared_base, shared_head, requests, uneven, self._tolerance)
        annotate(self.tally, measured, names)
        note_causes(self.tally, measured, pairs, self._tolerance)
        drafted = [(b.accept_num, h.accept_num) for b, h in pairs if same_drafting(b, h)]
        steps = [(b, h) for b, h in drafted if b is not None and h is not None]
        self.tally.counts["other-drafting"] += len(pairs) - len(drafted)
        self.tally.accepted = self.tally.accepted + acceptance.count(steps)

    def _count_side(self, side: str, stripped: Stripped, records: list[Record]) -> None:
        counts = self.tally.counts
        counts[f"rows-{side}"] += len(stripped.kind)
        for name, found in zip(
            KINDS, np.bincount(stripped.kind, minlength=len(KINDS)).tolist(), strict=True
        ):
            if name and found:
                counts[f"padding-{side}-{name}"] += found
        at = np.flatnonzero(stripped.kind)[:SHOWN]
        if len(at):
            start = np.cumsum([0, *(len(r) for r in records)])
            of = np.searchsorted(start, at, side="right") - 1
            self.tally.keep(
                f"padding-{side}",
                [
                    _padded(records[r], int(i - start[r]), int(stripped.kind[i]))
                    for r, i in zip(of, at, strict=True)
                ],
            )
        counts[f"ragged-{side}"] += int((stripped.rows.ids[:, -1:] == ABSENT).sum()) - sum(
            len(r) for r in records if not r.k and stripped.rows.k
        )


def _padded(record: Record, position: int, kind: int) -> Worst:
    value = float(record.logprobs[position])
    token = int(record.tokens[position])
    return Worst(0.0, record.id, position, KINDS[kind], token, value, value, 0.0, token, token)
