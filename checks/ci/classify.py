"""A log through the rules of `rules.toml`: what they saw, and where.

A rule's place in the file is its priority. Of one rule the last match counts, because tools print
their verdict at the end.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import cache, cached_property
from pathlib import Path
from typing import BinaryIO

from checks.ci.line_prefilter import LinePrefilter
from checks.ci.log_blocks import blocks, clean_line, is_marked_error, time_stamp
from checks.ci.report import Category, LogLine
from checks.ci.test_forms import TestForm, test_form


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


@dataclass(frozen=True)
class Rule:
    """A rule of `rules.toml`.

    `need`, `also`: literals in lower case; one of each must be in the line. `unless` refuses lines
    that `pattern` takes. `job`: the job died of it, whatever its tests said. `mark`: a fact about
    the log, not a failure. `every`: all its lines are kept, and not only the last.
    `shown_as_error`: only lines that GitHub shows as errors. `form`: of a rule that names failed
    tests, how their framework tells of them.
    """

    name: str
    category: Category
    need: tuple[str, ...]
    also: tuple[str, ...]
    expression: str
    exception: str
    origin: Origin
    job: bool
    mark: bool
    every: bool
    shown_as_error: bool
    form: TestForm | None

    # Of some two hundred expressions a log needs a dozen, so each is compiled at its first line.

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        return re.compile(self.expression)

    @cached_property
    def unless(self) -> re.Pattern[str] | None:
        return re.compile(self.exception) if self.exception else None

    def match(self, line: str) -> re.Match[str] | None:
        """The match in a cleaned line, or None.

        A tool indents what it repeats of another: such a line is tried without its indentation too.
        """
        match = self.pattern.search(line)
        if match is None and line[:1].isspace():
            match = self.pattern.search(line.lstrip())
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
    """What the rules saw: `matches` by importance, `marks` by name (the last line of each),
    `sightings` by name (all lines of the rules that keep every one), the number of lines, and the
    size in bytes.
    """

    matches: tuple[Match, ...]
    marks: dict[str, LogLine]
    sightings: dict[str, tuple[LogLine, ...]]
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
    need, also = raw["need"], raw.get("also", [])
    assert isinstance(need, list) and isinstance(also, list)
    form = test_form(raw)
    return Rule(
        name=str(raw["name"]),
        category=Category(str(raw.get("category", "unknown"))),
        need=tuple(str(n) for n in need),
        also=tuple(str(n) for n in also),
        expression=str(raw["pattern"]),
        exception=str(raw.get("unless", "")),
        origin=Origin(str(raw.get("origin", "open"))),
        job=bool(raw.get("job", False)),
        mark=bool(raw.get("mark", False)),
        every=form is not None or bool(raw.get("every", False)),
        shown_as_error=bool(raw.get("shown_as_error", False)),
        form=form,
    )


@cache
def _prefilter() -> LinePrefilter:
    return LinePrefilter((rule.need, rule.also) for rule in rules())


Times = tuple[datetime, datetime]
# What a step prints after the one that failed is mostly the clean-up's: that it finds no file and
# cannot upload is a consequence. Rules of these categories count less there.
_OFTEN_CONSEQUENCES = (Category.UNKNOWN, Category.NETWORK)
_STEP_FAILED = "step-failed"
# Lines that are kept of one mark.
_MOST_SIGHTINGS = 20_000


@dataclass
class _Sightings:
    """What the rules took so far, by the rule's priority.

    `before` and `after` are their last lines before and after the first step that failed.
    """

    before: dict[int, LogLine] = field(default_factory=dict)
    after: dict[int, LogLine] = field(default_factory=dict)
    every: dict[int, list[LogLine]] = field(default_factory=dict)
    step_failed: bool = False

    def add(self, block: _Sightings) -> None:
        """The lines of the next block."""
        if self.step_failed:
            self.after |= block.before
            self.after |= block.after
        else:
            self.before |= block.before
            self.after |= block.after
        self.step_failed = self.step_failed or block.step_failed
        for priority, lines in block.every.items():
            kept = self.every.setdefault(priority, [])
            kept += lines[: _MOST_SIGHTINGS - len(kept)]


def scan(stream: BinaryIO, within: Times | None = None) -> Scan:
    """One pass over a log of any size.

    `within`: only lines whose time stamp is between the two (the failed step's).
    """
    sightings = _Sightings()
    lines = size = 0
    for block in blocks(stream):
        sightings.add(_scan_block(block.data, block.first, within))
        lines = block.first + block.data.count(b"\n") - block.data.endswith(b"\n")
        size += len(block.data)
    return _make_scan(sightings, lines, size)


def scan_text(text: str) -> Scan:
    """The same for a short text that is in memory, such as a test's traceback."""
    data = text.encode("utf-8", "replace") + b"\n"
    return _make_scan(_scan_block(data, 1, None), data.count(b"\n"), len(data))


def _make_scan(sightings: _Sightings, lines: int, size: int) -> Scan:
    ranked: list[tuple[bool, int, LogLine]] = []
    for is_after, last_lines in ((False, sightings.before), (True, sightings.after)):
        for priority, line in last_lines.items():
            counts_less = is_after and rules()[priority].category in _OFTEN_CONSEQUENCES
            ranked.append((counts_less, priority, line))
    ranked.sort(key=lambda item: (item[0], item[1], -item[2].number))
    matches: dict[str, Match] = {}
    marks: dict[str, LogLine] = {}
    for _, priority, line in ranked:
        rule = rules()[priority]
        if rule.mark:
            marks.setdefault(rule.name, line)
        else:
            matches.setdefault(rule.name, Match(rule, line))
    every = {}
    for priority, found in sightings.every.items():
        every[rules()[priority].name] = tuple(found)
    return Scan(tuple(matches.values()), marks, every, lines, size)


def _scan_block(data: bytes, first: int, within: Times | None) -> _Sightings:
    """What the rules took in one block. `first` is the number of the block's first line.

    The block is searched from its end, so that a rule which has matched need not be tried on
    earlier lines.
    """
    seen = _Sightings()
    for candidate in _prefilter().candidates_from_end(data):
        open_rules = [priority for priority in candidate.rules if _is_open(priority, seen)]
        if not open_rules:
            continue
        raw = data[candidate.start : candidate.end]
        if within is not None and not _is_within(raw, within):
            continue
        text = clean_line(raw, candidate.position - candidate.start)
        line = LogLine(first + candidate.line, text)
        for priority in sorted(open_rules):
            _try_rule(priority, line, raw, seen)
    for lines in seen.every.values():
        lines.reverse()
    return seen


def _is_open(priority: int, seen: _Sightings) -> bool:
    """Whether another line of the rule still matters."""
    return rules()[priority].every or priority not in seen.before


def _try_rule(priority: int, line: LogLine, raw: bytes, seen: _Sightings) -> None:
    rule = rules()[priority]
    if rule.shown_as_error and not is_marked_error(raw):
        return
    if rule.match(line.text) is None:
        return
    if rule.every:
        seen.every.setdefault(priority, []).append(line)
        if not rule.mark:
            seen.before.setdefault(priority, line)
    elif rule.name == _STEP_FAILED:
        # Everything below this line comes after a failed step.
        seen.after = {**seen.before, **seen.after}
        seen.before = {}
        seen.step_failed = True
    else:
        seen.before[priority] = line


def _is_within(raw: bytes, times: Times) -> bool:
    """Whether a line's time is between the two. A line without a time counts as such."""
    time = time_stamp(raw)
    return time is None or times[0] <= time <= times[1]
