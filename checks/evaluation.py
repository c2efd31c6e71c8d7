"""How good the rules are: findings on labelled history against the labels.

A case is one line of JSON: `kind` is `bug` (a place where something must be reported) or `clean` (a
change on which no bug may be reported); `base`, `head`, `rule`, `path`, `line`, further places in
`also`, `confidence` of the label, and `variant`, for a head whose tree differs from the commit's.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any

NEAR = 3


@dataclass(frozen=True, slots=True)
class Place:
    path: str
    line: int


@dataclass(frozen=True, slots=True)
class Case:
    """A labelled case.

    `from_base` are folders of the head tree that are taken from the base instead.
    """

    id: str
    kind: str
    base: str
    head: str
    rule: str
    places: tuple[Place, ...]
    confidence: str
    message: str
    from_base: tuple[str, ...]
    pre_existing: bool

    @property
    def change(self) -> tuple[str, str, tuple[str, ...]]:
        """What has to be reviewed for this case; cases with the same are scored together."""
        return self.base, self.head, self.from_base


@dataclass(frozen=True, slots=True)
class Reported:
    """A finding, as far as scoring needs it."""

    rule: str
    severity: str
    path: str
    line: int
    end_line: int
    text: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """A review of one change: its findings, or the error it died of, with wall seconds and the
    megabytes that its process, which did the reviews before it as well, had held at most by its
    end.
    """

    base: str
    head: str
    findings: tuple[Reported, ...]
    seconds: float
    megabytes: float
    error: str = ""


@dataclass(slots=True)
class RuleScore:
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
    missed: list[Case] = field(default_factory=list)
    false_alarms: list[tuple[Outcome, Reported]] = field(default_factory=list)
    clean_changes: int = 0
    findings_per_change: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    megabytes: float = 0.0
    errors: list[Outcome] = field(default_factory=list)

    @property
    def recall_high(self) -> float:
        labelled = sum(r.labelled_high for r in self.rules.values())
        return sum(r.found_high for r in self.rules.values()) / labelled if labelled else 0.0

    @property
    def bugs_per_clean(self) -> float:
        return len(self.false_alarms) / self.clean_changes if self.clean_changes else 0.0

    @property
    def median_findings(self) -> float:
        return float(median(self.findings_per_change)) if self.findings_per_change else 0.0


class CaseError(ValueError):
    """A line that is not a case: `line` counts from 1."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(line, problem)
        self.line = line
        self.problem = problem


def parse_cases(text: str) -> tuple[Case, ...]:
    """The cases of a JSONL file. Raises CaseError."""
    cases = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                cases.append(_case(json.loads(line)))
            except (KeyError, TypeError, ValueError) as error:
                raise CaseError(number, str(error)) from error
    return tuple(cases)


def _case(raw: Mapping[str, Any]) -> Case:
    places = [raw] if raw["kind"] == "bug" else []
    places += raw.get("also", [])
    folders = re.findall(r"git checkout \S+ -- ([^\s`]+)", raw.get("variant", ""))
    return Case(
        id=str(raw["id"]),
        kind=raw["kind"],
        base=raw["base"],
        head=raw["head"],
        rule=raw.get("rule", ""),
        places=tuple(Place(p["path"], int(p["line"])) for p in places),
        confidence=raw.get("confidence", "high"),
        message=raw.get("message", ""),
        from_base=tuple(folders),
        pre_existing=bool(raw.get("pre_existing", False)),
    )


def hits(case: Case, findings: Iterable[Reported]) -> bool:
    """Whether one of the findings is of the case's rule and stands at one of its places, give or
    take three lines.
    """
    return any(f.rule == case.rule and any(_near(f, p) for p in case.places) for f in findings)


def _near(finding: Reported, place: Place) -> bool:
    if finding.path != place.path:
        return False
    return finding.line == 0 or finding.line - NEAR <= place.line <= finding.end_line + NEAR


def score(
    cases: Iterable[Case], outcomes: Mapping[tuple[str, str, tuple[str, ...]], Outcome]
) -> Score:
    """Score every case against the review of its change.

    Labels older than the change count only when found.
    """
    result = Score()
    cases = [c for c in cases if c.change in outcomes]
    for change, outcome in outcomes.items():
        kinds = {c.kind for c in cases if c.change == change}
        _count(result, outcome, clean=kinds == {"clean"})
    for case in cases:
        if case.kind != "bug":
            continue
        found = hits(case, outcomes[case.change].findings)
        if case.pre_existing and not found:
            continue
        rule = result.rules[case.rule]
        rule.labelled += 1
        rule.found += found
        if case.confidence == "high":
            rule.labelled_high += 1
            rule.found_high += found
        if not found:
            result.missed.append(case)
    return result


def _count(result: Score, outcome: Outcome, clean: bool) -> None:
    result.findings_per_change.append(len(outcome.findings))
    result.seconds.append(outcome.seconds)
    result.megabytes = max(result.megabytes, outcome.megabytes)
    result.clean_changes += clean
    if outcome.error:
        result.errors.append(outcome)
    for finding in outcome.findings:
        result.rules[finding.rule].reported += 1
        if clean and finding.severity == "bug":
            result.rules[finding.rule].bugs_on_clean += 1
            result.false_alarms.append((outcome, finding))
