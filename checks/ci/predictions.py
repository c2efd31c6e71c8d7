"""The failures that the review predicted, held against what the run saw."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from checks.ci.message_keys import Reason
from checks.ci.observed_failures import ObservedFailure
from checks.ci.report import Evidence, Outcome, Prediction
from checks.core.finding import Finding, Location, Message, PredictedFailure, RecordDiff, Severity

BASELINE_RULE = "logprobs.baseline-affected"


@dataclass(frozen=True, slots=True)
class PredictedTest:
    """One prediction and the finding that made it."""

    finding: Finding
    failure: PredictedFailure

    def evidence(self) -> Evidence:
        """The prediction as a reason, at the fixture."""
        f = self.failure
        args = {
            "finding": self.finding.rule,
            "expression": f.expression,
            "value": f.value,
            "exception": f.exception,
        }
        return Evidence(Message(Reason.PREDICTED, args), f.fixture, weight=8)


@dataclass(frozen=True, slots=True)
class Predictions:
    """What the review said beforehand: tests that will fail, and stored baselines that the change reaches."""

    failures: tuple[PredictedTest, ...] = ()
    baselines: tuple[Finding, ...] = ()


def collect_predictions(findings: Iterable[Finding]) -> Predictions:
    """Everything among the review's findings that a run can bear out."""
    kept = tuple(findings)
    pairs = ((f, e) for f in kept for e in f.evidence)
    failures = tuple(PredictedTest(f, e) for f, e in pairs if isinstance(e, PredictedFailure))
    return Predictions(failures, tuple(f for f in kept if f.rule == BASELINE_RULE))


@dataclass(frozen=True, slots=True)
class RecordComparison:
    """Records of before and after the change: the comparator's `verdict`, and whether it is `safe` to record the
    baseline anew. `open`: neither that nor that values are wrong."""

    verdict: str
    safe: bool
    open: bool


def baseline_evidence(
    seen: ObservedFailure, baselines: Iterable[Finding]
) -> tuple[Evidence, RecordComparison | None] | None:
    """The change reaches the baseline that this test compares with, as the review showed; and what records say."""
    path = seen.test.split("::")[0]
    for finding in baselines if path else ():
        tests = [finding.location.path, *(r.location.path for r in finding.related)]
        if any(t == path or t.endswith("/" + path) for t in tests):
            at = finding.message.args.get("at")
            args = {"finding": finding.rule, "what": finding.message.args.get("what", "")}
            place = at if isinstance(at, Location) else None
            return Evidence(Message(Reason.BASELINE, args), place, weight=5), _compared(finding)
    return None


def _compared(finding: Finding) -> RecordComparison | None:
    diff = next((e for e in finding.evidence if isinstance(e, RecordDiff)), None)
    if diff is None:
        return None
    return RecordComparison(
        diff.verdict, diff.safe, not diff.safe and finding.severity is not Severity.BUG
    )


def same_test(one: str, other: str) -> bool:
    """Whether two node ids name the same test, its parameters and leading folders aside."""
    a, b = (t.split("[")[0].replace("\\", "/").split("::") for t in (one, other))
    paths = sorted((a[0], b[0]), key=len)
    return (
        a[1:] == b[1:]
        and len(a) > 1
        and (paths[1] == paths[0] or paths[1].endswith("/" + paths[0]))
    )


def confirmed_by(seen: ObservedFailure, all_: Iterable[PredictedTest]) -> tuple[PredictedTest, ...]:
    """Predictions of this test that name the error which was seen."""
    return tuple(
        p
        for p in all_
        if same_test(p.failure.test, seen.test) and _same_error(p.failure.exception, seen.error)
    )


def _same_error(wanted: str, error: str) -> bool:
    """By the exception's type: its text may hold values."""
    kind = wanted.split(":")[0].split("(")[0].strip().rsplit(".", 1)[-1]
    return bool(kind) and error.split(":")[0].strip().rsplit(".", 1)[-1] == kind


def outcomes(
    all_: Iterable[PredictedTest],
    failed: Mapping[str, tuple[ObservedFailure, ...]],
    passed: frozenset[str],
) -> Iterator[Prediction]:
    """What the run said of each prediction; `failed` holds the failed tests of each job id.

    A test that failed with another error neither confirms nor refutes: the error seen may have come first.
    """
    for item in all_:
        test, exception = item.failure.test, item.failure.exception
        made = Prediction(item.finding.fingerprint, test, exception, Outcome.NOT_RUN)
        for job, tests in failed.items():
            hit = next((s for s in tests if confirmed_by(s, (item,))), None)
            if hit is not None:
                made = Prediction(made.finding, test, exception, Outcome.CONFIRMED, job, hit.error)
                break
        else:
            other = any(same_test(test, s.test) for tests in failed.values() for s in tests)
            if not other and any(same_test(test, p) for p in passed):
                made = Prediction(made.finding, test, exception, Outcome.REFUTED)
        yield made
