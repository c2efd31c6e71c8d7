"""The failures that the review predicted, compared with those that the run showed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from checks.ci.message_keys import Reason
from checks.ci.observed_failures import ObservedFailure
from checks.ci.report import Evidence, Outcome, Prediction
from checks.core.finding import Finding, Location, Message, PredictedFailure, RecordDiff, Severity

BASELINE_RULE = "logprobs.baseline-affected"


@dataclass(frozen=True, slots=True)
class PredictedTest:
    """One predicted failure, and the finding that made the prediction."""

    finding: Finding
    failure: PredictedFailure

    def evidence(self) -> Evidence:
        """The prediction as a reason, at the fixture."""
        args = {
            "finding": self.finding.rule,
            "expression": self.failure.expression,
            "value": self.failure.value,
            "exception": self.failure.exception,
        }
        return Evidence(Message(Reason.PREDICTED, args), self.failure.fixture, weight=8)


@dataclass(frozen=True, slots=True)
class Predictions:
    """What the review said before the run: tests that will fail, and stored baselines that the
    change reaches.
    """

    failures: tuple[PredictedTest, ...] = ()
    baselines: tuple[Finding, ...] = ()


def collect_predictions(findings: Iterable[Finding]) -> Predictions:
    """Everything in the review's findings that a run can confirm."""
    failures: list[PredictedTest] = []
    baselines: list[Finding] = []
    for finding in findings:
        for evidence in finding.evidence:
            if isinstance(evidence, PredictedFailure):
                failures.append(PredictedTest(finding, evidence))
        if finding.rule == BASELINE_RULE:
            baselines.append(finding)
    return Predictions(tuple(failures), tuple(baselines))


@dataclass(frozen=True, slots=True)
class RecordComparison:
    """Logprob records from before and after the change, compared.

    `verdict` is the comparator's. `safe`: the baseline may be recorded anew. `open`: neither that,
    nor are the values shown to be wrong.
    """

    verdict: str
    safe: bool
    open: bool


def baseline_evidence(
    observed: ObservedFailure, baselines: Iterable[Finding]
) -> tuple[Evidence, RecordComparison | None] | None:
    """The finding that the change reaches the baseline of this test, as evidence, and what the
    records say.
    """
    path = observed.test.split("::")[0]
    if not path:
        return None
    for finding in baselines:
        tests = [finding.location.path, *(place.location.path for place in finding.related)]
        if not any(test == path or test.endswith(f"/{path}") for test in tests):
            continue
        arguments = finding.message.args
        at = arguments.get("at")
        args = {"finding": finding.rule, "what": arguments.get("what", "")}
        location = at if isinstance(at, Location) else None
        evidence = Evidence(Message(Reason.BASELINE, args), location, weight=5)
        return evidence, _record_comparison(finding)
    return None


def _record_comparison(finding: Finding) -> RecordComparison | None:
    for diff in finding.evidence:
        if isinstance(diff, RecordDiff):
            is_open = not diff.safe and finding.severity is not Severity.BUG
            return RecordComparison(diff.verdict, diff.safe, is_open)
    return None


def same_test(first: str, second: str) -> bool:
    """Whether two node ids name the same test. Parameters and leading folders may differ."""
    first_path, *first_names = _split_node_id(first)
    second_path, *second_names = _split_node_id(second)
    if not first_names or first_names != second_names:
        return False
    shorter, longer = sorted((first_path, second_path), key=len)
    return longer == shorter or longer.endswith(f"/{shorter}")


def _split_node_id(test: str) -> list[str]:
    """Path, classes and function of a node id, without parameters."""
    return test.split("[")[0].replace("\\", "/").split("::")


def confirmed_by(
    observed: ObservedFailure, predictions: Iterable[PredictedTest]
) -> tuple[PredictedTest, ...]:
    """The predictions of this test that name the error which was seen."""
    return tuple(item for item in predictions if _confirms(observed, item.failure))


def _confirms(observed: ObservedFailure, predicted: PredictedFailure) -> bool:
    if not same_test(predicted.test, observed.test):
        return False
    # Only the exception's type is compared: its text may hold values.
    predicted_type = _unqualified(predicted.exception.split(":")[0].split("(")[0])
    observed_type = _unqualified(observed.error.split(":")[0])
    return bool(predicted_type) and observed_type == predicted_type


def _unqualified(name: str) -> str:
    return name.strip().rsplit(".", 1)[-1]


def outcomes(
    predictions: Iterable[PredictedTest],
    failed: Mapping[str, tuple[ObservedFailure, ...]],
    passed: frozenset[str],
) -> Iterator[Prediction]:
    """What the run said of each prediction. `failed` holds the failed tests of each job id.

    A test that failed with another error neither confirms nor refutes: the error seen may have come
    first.
    """
    for item in predictions:
        test = item.failure.test
        not_run = Prediction(
            item.finding.fingerprint, test, item.failure.exception, Outcome.NOT_RUN
        )
        confirmation = _confirmation(item, failed)
        if confirmation is not None:
            job, error = confirmation
            yield replace(not_run, outcome=Outcome.CONFIRMED, job=job, error=error)
        elif _passed_everywhere(test, failed, passed):
            yield replace(not_run, outcome=Outcome.REFUTED)
        else:
            yield not_run


def _confirmation(
    item: PredictedTest, failed: Mapping[str, tuple[ObservedFailure, ...]]
) -> tuple[str, str] | None:
    """The first job in which the prediction came true, and the error there."""
    for job, tests in failed.items():
        for observed in tests:
            if _confirms(observed, item.failure):
                return job, observed.error
    return None


def _passed_everywhere(
    test: str, failed: Mapping[str, tuple[ObservedFailure, ...]], passed: frozenset[str]
) -> bool:
    for tests in failed.values():
        if any(same_test(test, observed.test) for observed in tests):
            return False
    return any(same_test(test, name) for name in passed)
