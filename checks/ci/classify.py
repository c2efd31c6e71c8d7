"""A log through the rules of `rules.toml`: what they saw, and where.

A rule's place in the file is its priority. Of one rule the last match counts, because tools print
their verdict at the end.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import BinaryIO

from checks.ci.line_prefilter import LinePrefilter
from checks.ci.log_blocks import blocks, clean_line, time_stamp
from checks.ci.report import Category, LogLine


class Origin(StrEnum):
    """Where a rule's failure comes from, if there is no other evidence.

    `SETUP`: infrastructure before the tests began, open afterwards. `FOLLOWS`: usually the
    consequence of another failure. `OPEN`: the line alone does not tell.
    """

    INFRASTRUCTURE = "infrastructure"
    SETUP = "setup"
    PERSON = "person"
    FOLLOWS = "follows"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of `rules.toml`.

    `need`, `also`: literals in lower case; one of each must be in the line. `unless` refuses lines
    that `pattern` takes. `job`: the job died of it, whatever its tests said. `mark`: a fact about
    the log, not a failure.
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
    """What the rules saw: `matches` by priority, `marks` by name, the number of lines, and the size
    in bytes.
    """

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


@cache
def _prefilter() -> LinePrefilter:
    return LinePrefilter((rule.need, rule.also) for rule in rules())


Times = tuple[datetime, datetime]


def scan(stream: BinaryIO, within: Times | None = None) -> Scan:
    """One pass over a log of any size.

    `within`: only lines whose time stamp is between the two (the failed step's).
    """
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
    """The last line that each rule took in one block, by the rule's priority.

    `first` is the number of the block's first line. The block is searched from its end, so that a
    rule which has matched need not be tried on earlier lines.
    """
    last_matches: dict[int, LogLine] = {}
    for candidate in _prefilter().candidates_from_end(data):
        open_rules = [priority for priority in candidate.rules if priority not in last_matches]
        if not open_rules:
            continue
        raw = data[candidate.start : candidate.end]
        if within is not None and not _is_within(raw, within):
            continue
        line = clean_line(raw, candidate.position - candidate.start)
        for priority in open_rules:
            if rules()[priority].match(line) is not None:
                last_matches[priority] = LogLine(first + candidate.line, line)
    return last_matches


def _is_within(raw: bytes, times: Times) -> bool:
    """Whether a line's time is between the two. A line without a time counts as such."""
    time = time_stamp(raw)
    return time is None or times[0] <= time <= times[1]
