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
from checks.logprobs.compare.rows import LogprobRows, rows_of, units
from checks.logprobs.compare.tally import SHOWN, ComparisonStats, WorstRow
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
        self.tally = ComparisonStats()
        self._tolerance = tolerance
        self._calibrated = calibrated

    def add(self, pairs: Sequence[Pair]) -> None:
        """Compare these requests. Pairs that are not comparable are counted, and not compared."""
        tally = self.tally
        comparable: list[Pair] = []
        for base, head in pairs:
            found = conflicts(base, head)
            for name, of_base, of_head in found:
                tally.conflicts[name] += 1
                tally.say(f"conflict-{name}", [(of_base, of_head)])
            if found:
                tally.name("conflict", [base.id])
            else:
                comparable.append((base, head))
        for origins in dict.fromkeys((base.origin, head.origin) for base, head in pairs):
            name_origins(tally, *origins)
        if comparable:
            self._add(comparable)

    def only(self, side: str, record: Record) -> None:
        """A request that the other side lacks; `side` is `base` or `head`."""
        self.tally.counts[f"only-{side}"] += 1
        self.tally.name(f"only-{side}", [record.id])

    def _add(self, pairs: list[Pair]) -> None:
        """Compare requests that are comparable."""
        bases, heads = [base for base, _ in pairs], [head for _, head in pairs]
        self.tally.counts["pairs"] += len(pairs)
        other_length = np.array([len(base) != len(head) for base, head in pairs])
        base = strip(rows_of(bases), other_length)
        head = strip(rows_of(heads), other_length)
        self._count_side("base", base, bases)
        self._count_side("head", head, heads)
        uneven = base.rows.lengths != head.rows.lengths
        shared_base, shared_head = aligned(base.rows, head.rows)
        requests = self._requests(pairs, shared_base, shared_head)
        measured = measure(shared_base, shared_head, requests, uneven, self._tolerance)
        annotate(self.tally, measured, [record.id for record in bases])
        note_causes(self.tally, measured, pairs, self._tolerance)
        self._count_acceptance(pairs)

    def _requests(self, pairs: list[Pair], base: LogprobRows, head: LogprobRows) -> Requests:
        """Which requests drew no lots, and how large an ulp of their rows is."""
        least, most = units(base, head, [dtype(*pair) for pair in pairs])
        greedy = np.array([temperature(*pair) == 0 for pair in pairs])
        # An A/A run says how large an ulp is taken to be where the records do not.
        return Requests(greedy, least, least if self._calibrated else most)

    def _count_acceptance(self, pairs: list[Pair]) -> None:
        """Add up how many draft tokens each side accepted, where both were drafted for alike."""
        steps = []
        for base, head in pairs:
            if not same_drafting(base, head):
                self.tally.counts["other-drafting"] += 1
            elif base.accept_num is not None and head.accept_num is not None:
                steps.append((base.accept_num, head.accept_num))
        self.tally.accepted = self.tally.accepted + acceptance.count(steps)

    def _count_side(self, side: str, stripped: Stripped, records: list[Record]) -> None:
        """Count the rows of one side, its padding and the rows that are shorter than others."""
        counts = self.tally.counts
        counts[f"rows-{side}"] += len(stripped.kind)
        rows_of_kind = np.bincount(stripped.kind, minlength=len(KINDS)).tolist()
        for name, rows in zip(KINDS, rows_of_kind, strict=True):
            if name and rows:
                counts[f"padding-{side}-{name}"] += rows
        self._keep_padding(side, stripped, records)
        short = int((stripped.rows.ids[:, -1:] == ABSENT).sum())
        # A record without columns is no ragged one.
        without_columns = sum(len(record) for record in records if not record.k)
        counts[f"ragged-{side}"] += short - (without_columns if stripped.rows.k else 0)

    def _keep_padding(self, side: str, stripped: Stripped, records: list[Record]) -> None:
        """Keep the first rows of padding as examples."""
        padded = np.flatnonzero(stripped.kind)[:SHOWN]
        if not len(padded):
            return
        starts = np.cumsum([0, *(len(record) for record in records)])
        record_of = np.searchsorted(starts, padded, side="right") - 1
        examples = []
        for number, row in zip(record_of.tolist(), padded.tolist(), strict=True):
            position = row - int(starts[number])
            examples.append(_padded(records[number], position, int(stripped.kind[row])))
        self.tally.keep(f"padding-{side}", examples)


def _padded(record: Record, position: int, kind: int) -> WorstRow:
    value = float(record.logprobs[position])
    token = int(record.tokens[position])
    return WorstRow(0.0, record.id, position, KINDS[kind], token, value, value, 0.0, token, token)
