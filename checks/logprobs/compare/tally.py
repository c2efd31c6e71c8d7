"""What is kept of a comparison while the files go by: counts that add up, and the few worst
examples.

All sums are of integers, so that the order in which requests come, or are added up, changes no
digit of a report.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from math import isinf

import numpy as np

from checks.logprobs.compare.acceptance import AcceptanceSums, nothing
from checks.logprobs.record import Floats, Ints

SHOWN = 10
"""Examples of each kind that are kept."""

# Ulps are counted in eighths of an octave from 2^-8 to 2^24, with a bin below for less and one
# above for more.
_PER_OCTAVE, _LOWEST, _HIGHEST = 8, -8, 24
BINS = (_HIGHEST - _LOWEST) * _PER_OCTAVE + 2
# Places in the text are counted one by one first, then together.
_EDGES = np.array(
    [
        *range(16),
        16,
        24,
        32,
        48,
        64,
        96,
        128,
        192,
        256,
        384,
        512,
        768,
        1024,
        2048,
        4096,
        8192,
        16384,
    ]
)
PLACES = len(_EDGES)
STEP_PLACES = 9
"""Places within a step that are counted, the rest with the last."""
_PARTS = 1 << 10  # of an ulp, in sums
_MOST_MARKS = 4096
MOST_ULPS = float(1 << 24)
"""Ulps beyond which all differences count alike."""


@dataclass(frozen=True, slots=True, order=True)
class WorstRow:
    """One of the worst rows, or of the first: `first` sorts. Numbers are those of token `token` at
    `position`.
    """

    first: float
    request: str
    position: int
    kind: str
    token: int
    base: float
    head: float
    ulps: float
    chosen_base: int
    chosen_head: int


@dataclass(slots=True)
class PlaceStats:
    """Rows by their place: how many, how many with a difference, how many over the tolerance, their
    ulps summed in 1/1024 and the largest.
    """

    rows: Ints
    differ: Ints
    over: Ints
    sum: Ints
    most: Floats

    @classmethod
    def of(cls, size: int) -> PlaceStats:
        """No rows at any of `size` places."""
        none = np.zeros(size, np.int64)
        return cls(none.copy(), none.copy(), none.copy(), none.copy(), np.zeros(size))

    def add(self, place: Ints, ulps: Floats, over: Ints) -> None:
        """Count rows [n] by `place`; `over` [n] is 0 or 1."""
        size = len(self.rows)
        capped = np.minimum(ulps, MOST_ULPS)
        self.rows += np.bincount(place, minlength=size)
        self.differ += np.bincount(place[ulps > 0], minlength=size)
        self.over += np.bincount(place, weights=over, minlength=size).astype(np.int64)
        parts = np.rint(capped * _PARTS)
        self.sum += np.bincount(place, weights=parts, minlength=size).astype(np.int64)
        np.maximum.at(self.most, place, ulps)

    def merge(self, other: PlaceStats) -> None:
        """Add the rows of another part of the same two files."""
        self.rows += other.rows
        self.differ += other.differ
        self.over += other.over
        self.sum += other.sum
        self.most = np.maximum(self.most, other.most)

    @property
    def mean(self) -> Floats:
        """Mean ulps of each place; infinite where one of its differences is."""
        return np.where(np.isinf(self.most), np.inf, self.sum / _PARTS / np.maximum(self.rows, 1))


@dataclass(slots=True)
class ComparisonStats:
    """Everything that a verdict rests on. Two of them add up with `merge`."""

    counts: Counter[str] = field(default_factory=Counter)
    conflicts: Counter[str] = field(default_factory=Counter)
    widths: Counter[tuple[int, int]] = field(default_factory=Counter)
    ranks: Counter[int] = field(default_factory=Counter)
    rows_of: Counter[str] = field(default_factory=Counter)
    ulps: Ints = field(default_factory=lambda: np.zeros(BINS, np.int64))
    request_ulps: Ints = field(default_factory=lambda: np.zeros(BINS, np.int64))
    most: float = 0.0
    places: PlaceStats = field(default_factory=lambda: PlaceStats.of(PLACES))
    step_places: PlaceStats = field(default_factory=lambda: PlaceStats.of(STEP_PLACES))
    accepted: AcceptanceSums = field(default_factory=nothing)
    slopes: list[float] = field(default_factory=list)
    examples: dict[str, list[WorstRow]] = field(default_factory=dict)
    names: dict[str, list[str]] = field(default_factory=dict)
    said: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    marks: dict[str, dict[int, str]] = field(default_factory=lambda: {"base": {}, "head": {}})

    def merge(self, other: ComparisonStats) -> None:
        """Add another part of the same two files."""
        self.counts.update(other.counts)
        self.conflicts.update(other.conflicts)
        self.widths.update(other.widths)
        self.ranks.update(other.ranks)
        self.rows_of.update(other.rows_of)
        self.ulps += other.ulps
        self.request_ulps += other.request_ulps
        self.most = max(self.most, other.most)
        self.places.merge(other.places)
        self.step_places.merge(other.step_places)
        self.accepted = self.accepted + other.accepted
        self.slopes = _span([*self.slopes, *other.slopes])
        for kind, examples in other.examples.items():
            self.keep(kind, examples)
        for kind, names in other.names.items():
            self.name(kind, names)
        for name, values in other.said.items():
            self.say(name, values)
        for side, marks in other.marks.items():
            self.mark(side, marks)

    def keep(self, kind: str, examples: Iterable[WorstRow]) -> None:
        """Keep the first `SHOWN` of these examples and those at hand."""
        self.examples[kind] = heapq.nsmallest(SHOWN, [*self.examples.get(kind, ()), *examples])

    def name(self, kind: str, names: Iterable[str]) -> None:
        """Keep the first few names of requests, in their order."""
        self.names[kind] = heapq.nsmallest(SHOWN, {*self.names.get(kind, ()), *names})

    def say(self, name: str, values: Iterable[tuple[str, str]]) -> None:
        """Keep the first few of what base and head say about `name`, in their order."""
        self.said[name] = heapq.nsmallest(SHOWN, {*self.said.get(name, ()), *values})

    def mark(self, side: str, marks: dict[int, str]) -> None:
        """Keep what tells whole answers apart, of the requests that differ: the 4,096 smallest
        marks.
        """
        known = self.marks[side] | marks
        if len(known) > _MOST_MARKS:
            known = {mark: known[mark] for mark in heapq.nsmallest(_MOST_MARKS, known)}
        self.marks[side] = known

    def slope(self, slopes: Iterable[float]) -> None:
        """Keep the smallest and largest slope."""
        self.slopes = _span([*self.slopes, *slopes])


def _span(values: list[float]) -> list[float]:
    return [min(values), max(values)] if values else []


def binned(ulps: Floats) -> Ints:
    """Bin of each number of ulps: [n]."""
    with np.errstate(divide="ignore"):
        octave = np.log2(np.minimum(ulps, MOST_ULPS * 2))
    bins = np.floor((octave - _LOWEST) * _PER_OCTAVE) + 1
    return np.asarray(np.clip(bins, 0, BINS - 1), np.int64)


def edge(bin_: int) -> float:
    """Ulps at the upper end of a bin; the last has none."""
    if bin_ == BINS - 1:
        return float("inf")
    return float(2.0 ** (_LOWEST + bin_ / _PER_OCTAVE))


def quantile(bins: Ints, share: float) -> float:
    """Ulps that at least `share` of the counted stay below, to an eighth of an octave; 0 where they
    are 0.
    """
    if not bins.sum():
        return 0.0
    at = int(np.searchsorted(np.cumsum(bins), share * int(bins.sum())))
    return edge(at) if at else 0.0


def ulps_text(ulps: float) -> str:
    """A number of ulps to three digits, as reports write it."""
    return "∞" if isinf(ulps) else f"{ulps:.3g}"


def place_of(position: Ints) -> Ints:
    """Index into `Places` of each position in the text."""
    return np.asarray(np.searchsorted(_EDGES, position, side="right") - 1)


def place_names() -> list[str]:
    """What positions each entry of `Places` holds, such as `16-23`."""
    names = []
    starts = _EDGES.tolist()
    for start, next_start in pairwise(starts):
        last = next_start - 1
        names.append(str(start) if start == last else f"{start}-{last}")
    return [*names, f"{starts[-1]}-"]
