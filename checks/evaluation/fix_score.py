"""How many of the bugs that later fixes show a review came near."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from checks.evaluation.fixes import FixedPlace, FixPair
from checks.evaluation.intervals import wilson_interval
from checks.evaluation.outcome import ChangeKey, ReportedFinding, ReviewOutcome

# Lines that a finding may stand above or below what the fix replaced.
NEAR = 3
# A finding over more lines than this speaks of its first line, and is not near all the others.
_LONGEST = 10


@dataclass(frozen=True, slots=True)
class PairOutcome:
    """A pair, the finding that came nearest to a place of it, and what was hit.

    `distance` is in lines; None where no finding is in a file of the pair. `near_rules` and
    `function_rules` are the rules that spoke within `NEAR` lines, and in the same function.
    """

    pair: FixPair
    nearest: ReportedFinding | None
    distance: int | None
    near_rules: tuple[str, ...]
    function_rules: tuple[str, ...]
    error: str


@dataclass(frozen=True, slots=True)
class Share:
    """Hits of trials, with the interval that holds the true share with 95 %."""

    hits: int
    trials: int

    @property
    def value(self) -> float:
        return self.hits / self.trials if self.trials else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        return wilson_interval(self.hits, self.trials)


@dataclass(frozen=True, slots=True)
class FixScore:
    """What the reviews of many pairs amount to.

    `near` and `function` hold a share for each repository; `near_by_rule` and `function_by_rule`
    count pairs. `findings` (conventions left out) and `bugs` are over all changes, each once.
    """

    near: dict[str, Share]
    function: dict[str, Share]
    near_by_rule: dict[str, int]
    function_by_rule: dict[str, int]
    changes: int
    findings: int
    bugs: int
    errors: int
    seconds: float


def pair_outcome(pair: FixPair, outcome: ReviewOutcome) -> PairOutcome:
    """What the review of the pair's change says near the places of its fix."""
    findings = judged_findings(outcome)
    nearest: ReportedFinding | None = None
    least: int | None = None
    near: list[str] = []
    in_function: list[str] = []
    for finding in findings:
        distance = _distance(finding, pair.places)
        if distance is not None and (least is None or distance < least):
            nearest, least = finding, distance
        if distance is not None and distance <= NEAR:
            near.append(finding.rule)
        if any(_in_function(finding, place) for place in pair.places):
            in_function.append(finding.rule)
    return PairOutcome(pair, nearest, least, _once(near), _once(in_function), outcome.error)


def judged_findings(outcome: ReviewOutcome) -> list[ReportedFinding]:
    """The findings of a review without conventions, which no bug proves right."""
    return [finding for finding in outcome.findings if finding.severity != "convention"]


def score_pairs(
    pairs: Sequence[FixPair], outcomes: Mapping[ChangeKey, ReviewOutcome]
) -> tuple[FixScore, list[PairOutcome]]:
    """The score over all pairs whose change was reviewed, and each pair's own outcome."""
    judged = []
    reviews: dict[ChangeKey, ReviewOutcome] = {}
    for pair in pairs:
        key = (pair.base, pair.head, ())
        if key in outcomes:
            reviews[key] = outcomes[key]
            judged.append(pair_outcome(pair, outcomes[key]))
    findings = [finding for outcome in reviews.values() for finding in judged_findings(outcome)]
    result = FixScore(
        near=_shares(judged, lambda outcome: bool(outcome.near_rules)),
        function=_shares(judged, lambda outcome: bool(outcome.function_rules)),
        near_by_rule=_count_rules(outcome.near_rules for outcome in judged),
        function_by_rule=_count_rules(outcome.function_rules for outcome in judged),
        changes=len(reviews),
        findings=len(findings),
        bugs=sum(finding.severity == "bug" for finding in findings),
        errors=sum(bool(outcome.error) for outcome in reviews.values()),
        seconds=float(median(outcome.seconds for outcome in reviews.values())) if reviews else 0.0,
    )
    return result, judged


def total(shares: Mapping[str, Share]) -> Share:
    """The share over all repositories."""
    hits = sum(share.hits for share in shares.values())
    return Share(hits, sum(share.trials for share in shares.values()))


def _distance(finding: ReportedFinding, places: Iterable[FixedPlace]) -> int | None:
    """Lines between the finding and the nearest place in its file; None where there is none.

    What is said of a whole file is near no line of it.
    """
    if finding.line == 0:
        return None
    last = finding.end_line if finding.end_line - finding.line <= _LONGEST else finding.line
    distances = []
    for place in places:
        if place.path == finding.path:
            distances.append(max(finding.line - place.line, place.line - last, 0))
    return min(distances, default=None)


def _in_function(finding: ReportedFinding, place: FixedPlace) -> bool:
    same_file = place.path == finding.path and place.function != ""
    return same_file and place.first <= finding.line <= place.last


def _shares(
    outcomes: Iterable[PairOutcome], is_hit: Callable[[PairOutcome], bool]
) -> dict[str, Share]:
    trials: Counter[str] = Counter()
    hits: Counter[str] = Counter()
    for outcome in outcomes:
        repository = outcome.pair.repository
        trials[repository] += 1
        hits[repository] += is_hit(outcome)
    return {name: Share(hits[name], trials[name]) for name in sorted(trials)}


def _count_rules(rules: Iterable[tuple[str, ...]]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for names in rules:
        counts.update(names)
    return dict(sorted(counts.items()))


def _once(rules: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(rules)))
