"""Findings on labelled history against the labels.

A case is one line of JSON: `kind` is `bug` (a place where something must be reported) or `clean` (a
change on which no bug may be reported); `base`, `head`, `rule`, `path`, `line`, further places in
`also`, `confidence` of the label, and `variant`, for a head whose tree differs from the commit's.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from statistics import median

from checks.core.rule_ids import former_id
from checks.evaluation.outcome import ChangeKey, ReportedFinding, ReviewOutcome

# Lines that a finding may stand above or below the labelled one.
NEAR = 3


@dataclass(frozen=True, slots=True)
class LabelledPlace:
    """Where a label says that something is wrong."""

    path: str
    line: int


@dataclass(frozen=True, slots=True)
class LabelledCase:
    """A labelled case.

    `from_base` are folders of the head tree that are taken from the base instead.
    """

    id: str
    kind: str
    base: str
    head: str
    rule: str
    places: tuple[LabelledPlace, ...]
    confidence: str
    message: str
    from_base: tuple[str, ...]
    pre_existing: bool

    @property
    def change(self) -> ChangeKey:
        """What has to be reviewed for this case; cases with the same are scored together."""
        return self.base, self.head, self.from_base


@dataclass(slots=True)
class RuleScore:
    """Counts for one rule: labels, those that were found, and what was reported.

    `labelled_high` and `found_high` count labels of high confidence alone.
    """

    labelled: int = 0
    found: int = 0
    labelled_high: int = 0
    found_high: int = 0
    reported: int = 0
    bugs_on_clean: int = 0


@dataclass(slots=True)
class Score:
    """Per-rule scores, the cases that were missed, and the bugs reported on clean changes."""

    rules: dict[str, RuleScore] = field(default_factory=lambda: defaultdict(RuleScore))
    missed: list[LabelledCase] = field(default_factory=list)
    false_alarms: list[tuple[ReviewOutcome, ReportedFinding]] = field(default_factory=list)
    clean_changes: int = 0
    findings_per_change: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    megabytes: float = 0.0
    errors: list[ReviewOutcome] = field(default_factory=list)

    @property
    def recall_high(self) -> float:
        """The share of labels of high confidence that were found; 0 without labels."""
        labelled = sum(rule.labelled_high for rule in self.rules.values())
        found = sum(rule.found_high for rule in self.rules.values())
        return found / labelled if labelled else 0.0

    @property
    def bugs_per_clean(self) -> float:
        """False bugs per clean change; 0 without clean changes."""
        return len(self.false_alarms) / self.clean_changes if self.clean_changes else 0.0

    @property
    def median_findings(self) -> float:
        """The median number of findings on a change; 0 without changes."""
        return float(median(self.findings_per_change)) if self.findings_per_change else 0.0


def hits(case: LabelledCase, findings: Iterable[ReportedFinding]) -> bool:
    """Whether one of the findings is of the case's rule and stands at one of its places.

    A label may name the rule by the id that it had before it was divided. A finding for a whole
    file (line 0) stands at all of its lines.
    """
    for finding in findings:
        if case.rule not in (finding.rule, former_id(finding.rule)):
            continue
        if any(_is_near(finding, place) for place in case.places):
            return True
    return False


def _is_near(finding: ReportedFinding, place: LabelledPlace) -> bool:
    if finding.path != place.path:
        return False
    return finding.line == 0 or finding.line - NEAR <= place.line <= finding.end_line + NEAR


def score(
    cases: Sequence[LabelledCase],
    outcomes: Mapping[ChangeKey, ReviewOutcome],
) -> Score:
    """Score every case against the review of its change.

    Labels older than the change count only when found.
    """
    result = Score()
    labelled = {case.rule for case in cases}
    reviewed = [case for case in cases if case.change in outcomes]
    for change, outcome in outcomes.items():
        kinds = {case.kind for case in reviewed if case.change == change}
        _count_outcome(result, outcome, labelled, clean=kinds == {"clean"})
    for case in reviewed:
        if case.kind == "bug":
            _count_case(result, case, found=hits(case, outcomes[case.change].findings))
    return result


def _count_outcome(
    result: Score, outcome: ReviewOutcome, labelled: Set[str], *, clean: bool
) -> None:
    """Count the findings of one review, each under the id that the labels have for its rule."""
    result.findings_per_change.append(len(outcome.findings))
    result.seconds.append(outcome.seconds)
    result.megabytes = max(result.megabytes, outcome.megabytes)
    result.clean_changes += clean
    if outcome.error:
        result.errors.append(outcome)
    for finding in outcome.findings:
        former = former_id(finding.rule)
        rule = result.rules[former if former in labelled else finding.rule]
        rule.reported += 1
        if clean and finding.severity == "bug":
            rule.bugs_on_clean += 1
            result.false_alarms.append((outcome, finding))


def _count_case(result: Score, case: LabelledCase, found: bool) -> None:
    if case.pre_existing and not found:
        return
    rule = result.rules[case.rule]
    rule.labelled += 1
    rule.found += found
    if case.confidence == "high":
        rule.labelled_high += 1
        rule.found_high += found
    if not found:
        result.missed.append(case)
