"""Which lines of a log may match which rules, by the literals that the rules require.

Without it every rule's expression would be searched in every line, which takes minutes for a log
of 50 MiB (see `literal_prefilter` for the numbers).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

import numpy as np

from checks.ci.literal_prefilter import Hits, Ints, LiteralTable

# For a rule none of whose literals is in the block.
_NO_LINES: Ints = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A line on which `rules` (by their index) must be tried, because their literals stand in it.

    `line` is its index in the block, `start` and `end` are its bytes, and `position` is the byte of
    a literal: a line that is too long is cut around it.
    """

    line: int
    start: int
    end: int
    position: int
    rules: list[int]


@dataclass(frozen=True, slots=True)
class _RuleLiterals:
    """Numbers of literals in the table: the line must have one of `need`, and one of `also`."""

    need: tuple[int, ...]
    also: tuple[int, ...]


class LinePrefilter:
    """The prefilter for `rules`, each given by its literals `need` and `also`, in lower case.

    A line may match a rule only if it has one literal of `need`, and one of `also` unless that is
    empty.
    """

    def __init__(self, rules: Iterable[tuple[Sequence[str], Sequence[str]]]) -> None:
        numbers: dict[str, int] = {}
        self._rules: list[_RuleLiterals] = []
        for need, also in rules:
            for literal in (*need, *also):
                numbers.setdefault(literal, len(numbers))
            need_numbers = tuple(numbers[literal] for literal in need)
            also_numbers = tuple(numbers[literal] for literal in also)
            self._rules.append(_RuleLiterals(need_numbers, also_numbers))
        self._table = LiteralTable(numbers)

    def candidates_from_end(self, data: bytes) -> Iterator[Candidate]:
        """The lines of `data` that may match a rule, the last one first."""
        hits = self._table.hits(data.lower())
        columns: list[Ints] = []
        for index, literals in enumerate(self._rules):
            lines, positions = _lines_of_rule(hits, literals)
            if not len(lines):
                continue
            columns.append(np.stack((lines, positions, np.full(len(lines), index))))
        if not columns:
            return
        table = np.concatenate(columns, axis=1)
        from_end = np.argsort(table[0], kind="stable")[::-1]
        rows = zip(*table[:, from_end].tolist(), strict=True)
        starts = [*hits.starts.tolist(), len(data)]
        for line, group in groupby(rows, key=itemgetter(0)):
            rows_of_line = list(group)
            position = rows_of_line[0][1]
            rules = [index for _, _, index in rows_of_line]
            yield Candidate(line, starts[line], starts[line + 1], position, rules)


def _lines_of_rule(hits: Hits, literals: _RuleLiterals) -> tuple[Ints, Ints]:
    """The lines that may match, ascending, and in each the position of a literal of `need`."""
    found = [hits.at[number] for number in literals.need if number in hits.at]
    if not found:
        return _NO_LINES, _NO_LINES
    all_lines = np.concatenate([lines for lines, _ in found])
    all_positions = np.concatenate([positions for _, positions in found])
    lines, first = np.unique(all_lines, return_index=True)
    positions = all_positions[first]
    if not literals.also:
        return lines, positions
    with_also = [hits.at[number][0] for number in literals.also if number in hits.at]
    if not with_also:
        return _NO_LINES, _NO_LINES
    kept = np.isin(lines, np.concatenate(with_also))
    return lines[kept], positions[kept]
