"""A log through the rules of `rules.toml`: what they saw, and where.

A rule's place in the file is its priority. Of one rule the last match counts, because tools print their verdict at
the end.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import cache
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import BinaryIO

import numpy as np

from checks.ci.literal_prefilter import Hits, Ints, LiteralTable
from checks.ci.log_blocks import blocks, clean_line, time_stamp
from checks.ci.report import Category, LogLine


class Origin(StrEnum):
    """Where a rule's failure comes from, if there is no other evidence.

    `SETUP`: infrastructure before the tests began, open afterwards. `FOLLOWS`: usually the consequence of another
    failure. `OPEN`: the line alone does not tell.
    """

    INFRASTRUCTURE = "infrastructure"
    SETUP = "setup"
    PERSON = "person"
    FOLLOWS = "follows"
    OPEN = "open"


# Of a rule none of whose literals is in the block.
_NO_LINES: Ints = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of `rules.toml`.

    `need`, `also`: literals in lower case; one of each must be in the line. `unless` refuses lines that `pattern`
    takes. `job`: the job died of it, whatever its tests said. `mark`: a fact about the log, not a failure.
    """

    name: str
    category: Category
    need: tuple[str, ...]
    also: tuple[str, ...]
    pattern: re.Pattern[str]
    unless: re.Pattern[str] | None
    origin: Origin
    job: bool
    mark: bool

    def match(self, line: str) -> re.Match[str] | None:
        """The match in a cleaned line, or None."""
        match = self.pattern.search(line)
        if match is not None and self.unless is not None and self.unless.search(line):
            return None
        return match


@dataclass(frozen=True, slots=True)
class Match:
    """The last line that a rule took."""

    rule: Rule
    line: LogLine


@dataclass(frozen=True, slots=True)
class Scan:
    """What the rules saw: `matches` by priority, `marks` by name, the number of lines, and the size in bytes."""

    matches: tuple[Match, ...]
    marks: dict[str, LogLine]
    lines: int
    size: int

    @property
    def top(self) -> Match | None:
        """The match of the most important rule."""
        return self.matches[0] if self.matches else None


@cache
def rules() -> tuple[Rule, ...]:
    """The rules of `rules.toml`, by priority."""
    text = Path(__file__).with_name("rules.toml").read_text("utf-8")
    return tuple(_rule(raw) for raw in tomllib.loads(text)["rule"])


def _rule(raw: dict[str, object]) -> Rule:
    need, also, unless = raw["need"], raw.get("also", []), raw.get("unless")
    assert isinstance(need, list) and isinstance(also, list)
    return Rule(
        name=str(raw["name"]),
        category=Category(str(raw.get("category", "unknown"))),
        need=tuple(str(n) for n in need),
        also=tuple(str(n) for n in also),
        pattern=re.compile(str(raw["pattern"])),
        unless=re.compile(str(unless)) if unless else None,
        origin=Origin(str(raw.get("origin", "open"))),
        job=bool(raw.get("job", False)),
        mark=bool(raw.get("mark", False)),
    )


@dataclass(frozen=True, slots=True)
class _RuleLiterals:
    """The numbers of a rule's literals in the prefilter: `need` and `also` of the rule."""

    need: tuple[int, ...]
    also: tuple[int, ...]


@cache
def _prefilter() -> tuple[LiteralTable, tuple[_RuleLiterals, ...]]:
    """The table of all literals, and the numbers of each rule's."""
    numbers: dict[str, int] = {}
    literals_of_rules = []
    for rule in rules():
        for literal in (*rule.need, *rule.also):
            numbers.setdefault(literal, len(numbers))
        need = tuple(numbers[literal] for literal in rule.need)
        also = tuple(numbers[literal] for literal in rule.also)
        literals_of_rules.append(_RuleLiterals(need, also))
    return LiteralTable(numbers), tuple(literals_of_rules)


Times = tuple[datetime, datetime]


def scan(stream: BinaryIO, within: Times | None = None) -> Scan:
    """One pass over a log of any size. `within`: only lines whose time stamp is between the two (the failed step's)."""
    last_matches: dict[int, LogLine] = {}
    lines = size = 0
    for block in blocks(stream):
        last_matches |= _scan_block(block.data, block.first, within)
        lines = block.first + block.data.count(b"\n") - block.data.endswith(b"\n")
        size += len(block.data)
    return _make_scan(last_matches, lines, size)


def scan_text(text: str) -> Scan:
    """The same for a short text that is in memory, such as a test's traceback."""
    data = text.encode("utf-8", "replace") + b"\n"
    last_matches = _scan_block(data, 1, None)
    return _make_scan(last_matches, data.count(b"\n"), len(data))


def _make_scan(last_matches: dict[int, LogLine], lines: int, size: int) -> Scan:
    matches: list[Match] = []
    marks: dict[str, LogLine] = {}
    for priority in sorted(last_matches):
        rule, line = rules()[priority], last_matches[priority]
        if rule.mark:
            marks[rule.name] = line
        else:
            matches.append(Match(rule, line))
    return Scan(tuple(matches), marks, lines, size)


def _scan_block(data: bytes, first: int, within: Times | None) -> dict[int, LogLine]:
    """The last line that each rule took in one block, by the rule's priority. `first` is the number of its first line.

    The block is searched from its end, so that a rule which has matched need not be tried on earlier lines.
    """
    table, _ = _prefilter()
    hits = table.hits(data.lower())
    line_starts = [*hits.starts.tolist(), len(data)]
    last_matches: dict[int, LogLine] = {}
    for candidate in _candidates_from_end(hits):
        open_rules = [n for n in candidate.rules if n not in last_matches]
        if not open_rules:
            continue
        start, end = line_starts[candidate.line], line_starts[candidate.line + 1]
        raw = data[start:end]
        if within is not None and not _is_within(raw, within):
            continue
        line = clean_line(raw, candidate.position - start)
        for priority in open_rules:
            if rules()[priority].match(line) is not None:
                last_matches[priority] = LogLine(first + candidate.line, line)
    return last_matches


def _is_within(raw: bytes, times: Times) -> bool:
    """Whether a line's time is between the two. A line without a time is."""
    time = time_stamp(raw)
    return time is None or times[0] <= time <= times[1]


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A line on which the `rules` (by their priority) must be tried, as their literals stand in it.

    `position` is the byte of a literal in the block: a line that is too long is cut around it.
    """

    line: int
    position: int
    rules: list[int]


def _candidates_from_end(hits: Hits) -> Iterator[_Candidate]:
    """The lines of a block that may match a rule, the last one first."""
    _, literals_of_rules = _prefilter()
    columns: list[Ints] = []
    for priority, literals in enumerate(literals_of_rules):
        lines, positions = _lines_of_rule(hits, literals)
        columns.append(np.stack((lines, positions, np.full(len(lines), priority))))
    table = np.concatenate(columns, axis=1)
    from_end = np.argsort(table[0], kind="stable")[::-1]
    rows = zip(*table[:, from_end].tolist(), strict=True)
    for line, group in groupby(rows, key=itemgetter(0)):
        rows_of_line = list(group)
        position = rows_of_line[0][1]
        yield _Candidate(line, position, [priority for _, _, priority in rows_of_line])


def _lines_of_rule(hits: Hits, literals: _RuleLiterals) -> tuple[Ints, Ints]:
    """The lines with a literal of `need`, and of `also` where the rule has these; and where in the block that is."""
    found = [hits.at[number] for number in literals.need if number in hits.at]
    if not found:
        return _NO_LINES, _NO_LINES
    all_lines = np.concatenate([lines for lines, _ in found])
    all_positions = np.concatenate([positions for _, positions in found])
    lines, first = np.unique(all_lines, return_index=True)
    positions = all_positions[first]
    if not literals.also:
        return lines, positions
    required = [hits.at[number][0] for number in literals.also if number in hits.at]
    if not required:
        return _NO_LINES, _NO_LINES
    kept = np.isin(lines, np.concatenate(required))
    return lines[kept], positions[kept]
