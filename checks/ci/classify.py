"""A log through the rules of `rules.toml`: what they saw, and where.

A rule's place in the file is its priority; of one rule the last match counts, since tools end with their verdict.
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

from checks.ci.literal_prefilter import LiteralTable, Hits, Ints
from checks.ci.log_blocks import blocks, clean_line, time_stamp
from checks.ci.report import Category, LogLine


class Origin(StrEnum):
    """Where a rule's failure comes from if nothing else speaks. `SETUP`: infrastructure before the tests began, open
    afterwards. `FOLLOWS`: usually the consequence of another failure. `OPEN`: the line alone does not tell."""

    INFRASTRUCTURE = "infrastructure"
    SETUP = "setup"
    PERSON = "person"
    FOLLOWS = "follows"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Rule:
    """`need`, `also`: literals, in lower case, of which one each must stand in the line. `unless` refuses what
    `pattern` takes. `job`: the job died of it, whatever its tests said. `mark`: a fact of the log, no failure."""

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
        found = self.pattern.search(line)
        if found is None or (self.unless is not None and self.unless.search(line)):
            return None
        return found


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


@cache
def _grams() -> tuple[LiteralTable, tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]]:
    """The table of all literals, and for each rule the numbers of those in its `need` and its `also`."""
    literals = {
        literal: n
        for n, literal in enumerate(dict.fromkeys(x for r in rules() for x in (*r.need, *r.also)))
    }
    numbers = (
        (tuple(literals[x] for x in r.need), tuple(literals[x] for x in r.also)) for r in rules()
    )
    return LiteralTable(literals), tuple(numbers)


def scan(stream: BinaryIO, within: tuple[datetime, datetime] | None = None) -> Scan:
    """One pass over a log of any size. `within` keeps to lines with a time between the two (the failed step's)."""
    found: dict[int, LogLine] = {}
    lines = size = 0
    for block in blocks(stream):
        for id, line in _in_block(block.data, block.first, within).items():
            found[id] = line
        lines = block.first + block.data.count(b"\n") - block.data.endswith(b"\n")
        size += len(block.data)
    return _scan(found, lines, size)


def _scan(found: dict[int, LogLine], lines: int, size: int) -> Scan:
    taken = [Match(rules()[id], found[id]) for id in sorted(found)]
    marks = {m.rule.name: m.line for m in taken if m.rule.mark}
    return Scan(tuple(m for m in taken if not m.rule.mark), marks, lines, size)


def scan_text(text: str) -> Scan:
    """The same for a short text that is in memory: a test's traceback."""
    data = text.encode("utf-8", "replace") + b"\n"
    found = _in_block(data, 1, None)
    return _scan(found, data.count(b"\n"), len(data))


def _in_block(
    data: bytes, first: int, within: tuple[datetime, datetime] | None
) -> dict[int, LogLine]:
    """The last match of every rule in one block, searched from its end."""
    hits = _grams()[0].hits(data.lower())
    starts = [*hits.starts.tolist(), len(data)]
    found: dict[int, LogLine] = {}
    for index, position, places in _from_end(hits):
        wanted = [place for place in places if place not in found]
        if not wanted:
            continue
        raw = data[starts[index] : starts[index + 1]]
        if (
            within is not None
            and (time := time_stamp(raw)) is not None
            and not within[0] <= time <= within[1]
        ):
            continue
        line = clean_line(raw, position - starts[index])
        for place in wanted:
            if rules()[place].match(line) is not None:
                found[place] = LogLine(first + index, line)
    return found


def _from_end(hits: Hits) -> Iterator[tuple[int, int, list[int]]]:
    """(line index, byte position, places of the rules to try) of every candidate line, the last one first."""
    rows: list[Ints] = []
    for place, (need, also) in enumerate(_grams()[1]):
        there = [hits.at[n] for n in need if n in hits.at]
        if not there:
            continue
        lines, first = np.unique(np.concatenate([lines for lines, _ in there]), return_index=True)
        positions = np.concatenate([at for _, at in there])[first]
        if also:
            beside = [hits.at[n][0] for n in also if n in hits.at]
            kept = (
                np.isin(lines, np.concatenate(beside))
                if beside
                else np.zeros(len(lines), dtype=np.bool_)
            )
            lines, positions = lines[kept], positions[kept]
        rows.append(np.stack((lines, positions, np.full(len(lines), place))))
    if not rows:
        return
    table = np.concatenate(rows, axis=1)
    table = table[:, np.argsort(table[0], kind="stable")[::-1]]
    for line, group in groupby(zip(*table.tolist(), strict=True), key=itemgetter(0)):
        found = list(group)
        yield line, found[0][1], [place for _, _, place in found]
