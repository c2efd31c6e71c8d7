"""Rows in which head is base plus a constant, or base times a slope plus a constant.

A constant is another normalisation, a slope a temperature that one side applied and the other did
not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from checks.logprobs.compare.comparable import temperature
from checks.logprobs.compare.measure import Measured
from checks.logprobs.compare.rows import Bools
from checks.logprobs.compare.tally import ComparisonStats
from checks.logprobs.record import Floats, Ints, Record

FEWEST_COLUMNS = 3
_SLOPE = 0.02  # how near two slopes, or a slope and a temperature, have to be to be the same


@dataclass(frozen=True, slots=True)
class _Line:
    """The line through the n columns that both sides have, row by row."""

    columns: Ints  # [n] how many there are
    mean_base: Floats  # [n]
    mean_head: Floats  # [n]
    base: Floats  # [n, k] base's values less their mean, 0 in columns that do not count
    head: Floats  # [n, k] likewise


def count_lines(
    tally: ComparisonStats,
    measured: Measured,
    over: Ints,
    pairs: Sequence[tuple[Record, Record]],
    tolerance: float,
) -> None:
    """Count the rows among `over` that a constant explains, or a slope."""
    shared = min(measured.base.k, measured.head.k)
    row = measured.row[over]
    base, head = measured.base.values[row, :shared], measured.head.values[row, :shared]
    same = measured.base.ids[row, :shared] == measured.head.ids[row, :shared]
    same &= np.isfinite(base) & np.isfinite(head)
    enough = same.sum(axis=1) >= FEWEST_COLUMNS
    over = over[enough]
    if not len(over):
        return
    line = _line_through(base[enough], head[enough], same[enough])
    noise = tolerance * measured.unit[over]

    shift = line.mean_head - line.mean_base
    constant = (np.abs(line.head - line.base).max(axis=1) <= noise) & (np.abs(shift) > noise)
    tally.counts["constant"] += int(constant.sum())
    tally.counts["constant-up"] += int((constant & (line.mean_head > line.mean_base)).sum())

    slope, scaled = _slopes(line, noise)
    scaled &= ~constant
    tally.counts["scaled"] += int(scaled.sum())
    tally.slope(slope[scaled].tolist())
    heat = np.array([temperature(*pair) for pair in pairs])[measured.request[over]]
    tempered_head = scaled & (np.abs(slope * heat - 1) < _SLOPE)
    with np.errstate(divide="ignore"):
        tempered_base = scaled & (np.abs(slope / heat - 1) < _SLOPE)
    tally.counts["tempered-head"] += int(tempered_head.sum())
    tally.counts["tempered-base"] += int(tempered_base.sum())


def _line_through(base: Floats, head: Floats, same: Bools) -> _Line:
    x, y = np.where(same, base, 0.0), np.where(same, head, 0.0)
    n = same.sum(axis=1)
    mean_x, mean_y = x.sum(axis=1) / n, y.sum(axis=1) / n
    dx = np.where(same, x - mean_x[:, None], 0.0)
    dy = np.where(same, y - mean_y[:, None], 0.0)
    return _Line(n, mean_x, mean_y, dx, dy)


def _slopes(line: _Line, noise: Floats) -> tuple[Floats, Bools]:
    """(slope of each row, whether it explains the row within the noise and is no slope of 1)."""
    dx, dy = line.base, line.head
    with np.errstate(invalid="ignore", divide="ignore"):
        slope = (dx * dy).sum(axis=1) / (dx * dx).sum(axis=1)
        rest = np.abs(dy - slope[:, None] * dx).max(axis=1)
    fits = rest <= noise * np.maximum(1, slope)
    is_other = (np.abs(slope - 1) > _SLOPE) & (slope > 0)
    # A line goes through any two columns: a slope must hold for more than three of them.
    return slope, fits & is_other & (line.columns > FEWEST_COLUMNS)
