"""The failures that the review predicted, held against what the run saw."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from checks.ci.report import Evidence, Outcome, Prediction
from checks.ci.seen import Seen
from checks.ci.sentences import Reason
from checks.finding import Finding, Message, PredictedFailure


@dataclass(frozen=True, slots=True)
class Predicted:
    """One prediction and the finding that made it."""

    finding: Finding
    failure: PredictedFailure

    def evidence(self) -> Evidence:
        """The prediction as a reason, at the fixture."""
        f = self.failure
        args = {"finding": self.finding.rule, "expression": f.expression, "value": f.value, "exception": f.exception}
        return Evidence(Message(Reason.PREDICTED, args), f.fixture, weight=8)


def predicted(findings: Iterable[Finding]) -> tuple[Predicted, ...]:
    """Every prediction among the review's findings."""
    pairs = ((f, e) for f in findings for e in f.evidence)
    return tuple(Predicted(f, e) for f, e in pairs if isinstance(e, PredictedFailure))


def same_test(one: str, other: str) -> bool:
    """Whether two node ids name the same test, its parameters and leading folders aside."""
    a, b = (t.split("[")[0].replace("\\", "/").split("::") for t in (one, other))
    paths = sorted((a[0], b[0]), key=len)
    return a[1:] == b[1:] and len(a) > 1 and (paths[1] == paths[0] or paths[1].endswith("/" + paths[0]))


def confirming(seen: Seen, all_: Iterable[Predicted]) -> tuple[Predicted, ...]:
    """Predictions of this test that name the error which was seen."""
    return tuple(
        p for p in all_ if same_test(p.failure.test, seen.test) and _same_error(p.failure.exception, seen.error)
    )


def _same_error(wanted: str, error: str) -> bool:
    """By the exception's type: its text may hold values."""
    kind = wanted.split(":")[0].split("(")[0].strip().rsplit(".", 1)[-1]
    return bool(kind) and error.split(":")[0].strip().rsplit(".", 1)[-1] == kind


def outcomes(
    all_: Iterable[Predicted], failed: Mapping[str, tuple[Seen, ...]], passed: frozenset[str]
) -> Iterator[Prediction]:
    """What the run said of each prediction; `failed` holds the failed tests of each job id.

    A test that failed with another error neither confirms nor refutes: the error seen may have come first.
    """
    for item in all_:
        test, exception = item.failure.test, item.failure.exception
        made = Prediction(item.finding.fingerprint, test, exception, Outcome.NOT_RUN)
        for job, tests in failed.items():
            hit = next((s for s in tests if confirming(s, (item,))), None)
            if hit is not None:
                made = Prediction(made.finding, test, exception, Outcome.CONFIRMED, job, hit.error)
                break
        else:
            other = any(same_test(test, s.test) for tests in failed.values() for s in tests)
            if not other and any(same_test(test, p) for p in passed):
                made = Prediction(made.finding, test, exception, Outcome.REFUTED)
        yield made
