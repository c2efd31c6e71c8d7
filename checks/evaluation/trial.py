"""What reviews of merged changes amount to for somebody who decides whether to use them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from checks.core.rule_ids import former_id
from checks.evaluation.fix_score import PairOutcome, judged_findings
from checks.evaluation.intervals import wilson_interval
from checks.evaluation.outcome import ReportedFinding, ReviewOutcome

_COUNTS = Path(__file__).with_name("judged.toml")


@dataclass(frozen=True, slots=True)
class JudgedCount:
    """Findings of a rule that people read: how many were true, and how many were not."""

    true: int
    false: int


@dataclass(frozen=True, slots=True)
class MergedChange:
    """A change that was merged, from `base` to `head`; `day` is when."""

    base: str
    head: str
    title: str
    day: str


@dataclass(frozen=True, slots=True)
class TriedChange:
    """A merged change with its review, and the later fixes of what it brought."""

    change: MergedChange
    outcome: ReviewOutcome
    fixes: tuple[PairOutcome, ...]

    @property
    def findings(self) -> list[ReportedFinding]:
        """What the review said, conventions left out: without the pull request's own text there
        are none."""
        return judged_findings(self.outcome)


@dataclass(frozen=True, slots=True)
class Trial:
    """All changes that were tried, the newest first."""

    repository: str
    head: str
    changes: tuple[TriedChange, ...]

    @property
    def findings(self) -> list[ReportedFinding]:
        return [finding for change in self.changes for finding in change.findings]

    @property
    def fixes(self) -> list[PairOutcome]:
        return [fix for change in self.changes for fix in change.fixes]

    @property
    def near_fixes(self) -> int:
        """Later fixes within a few lines of which the review had said something."""
        return sum(bool(fix.near_rules) for fix in self.fixes)

    @property
    def quiet(self) -> int:
        """Changes of which nothing was said."""
        return sum(not change.findings for change in self.changes)

    @property
    def failures(self) -> int:
        """Changes whose review died."""
        return sum(bool(change.outcome.error) for change in self.changes)

    @property
    def median_seconds(self) -> float:
        seconds = [change.outcome.seconds for change in self.changes]
        return float(median(seconds)) if seconds else 0.0

    @property
    def longest_seconds(self) -> float:
        return max((change.outcome.seconds for change in self.changes), default=0.0)

    def count(self, severity: str) -> int:
        """The findings of a severity."""
        return sum(finding.severity == severity for finding in self.findings)


@dataclass(frozen=True, slots=True)
class FalseAlarms:
    """How many findings to expect to be wrong: by the share that was, and at most.

    `unread` findings are of rules of which none was ever read; they count by what was read of all
    rules together.
    """

    expected: float
    at_most: float
    unread: int


def judged_counts() -> dict[str, JudgedCount]:
    """The counts of each rule, by the id that it has or had before it was divided."""
    table = tomllib.loads(_COUNTS.read_text("utf-8"))
    return {rule: JudgedCount(row["true"], row["false"]) for rule, row in table.items()}


def false_alarms(
    findings: Sequence[ReportedFinding], judged: Mapping[str, JudgedCount]
) -> FalseAlarms:
    """What `judged` lets expect of `findings`; the upper limits are those of 95 % intervals."""
    everything = JudgedCount(
        sum(count.true for count in judged.values()), sum(count.false for count in judged.values())
    )
    expected, at_most, unread = 0.0, 0.0, 0
    for finding in findings:
        count = judged.get(former_id(finding.rule))
        if count is None:
            unread += 1
            count = everything
        trials = count.true + count.false
        expected += count.false / trials if trials else 0.0
        at_most += wilson_interval(count.false, trials)[1]
    return FalseAlarms(expected, at_most, unread)
