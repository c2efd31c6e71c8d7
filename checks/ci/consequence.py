"""Failures that follow from another one: the connection was lost because the other side died."""

from __future__ import annotations

from collections.abc import Iterable

from checks.ci.attribution_input import Attribution, AttributionInput
from checks.ci.change_links import STRONG
from checks.ci.classify import Origin
from checks.ci.message_keys import Reason, Root
from checks.ci.observed_failures import ObservedFailure, crash_in_output
from checks.ci.report import Category, Cause, Evidence
from checks.core.finding import Confidence, Location, Message

_DEADLY = frozenset(
    {
        Category.DEVICE_ERROR,
        Category.DEVICE_OOM,
        Category.HOST_OOM,
        Category.SIGNAL,
        Category.HANG,
        Category.RUNNER_UNHEALTHY,
    }
)


def attribute_consequence(
    case: AttributionInput,
    attribution: Attribution,
    decided: Iterable[tuple[ObservedFailure, Attribution]],
) -> Attribution:
    """The attribution, or `CONSEQUENCE` where the failure is a lost connection and its reason is
    known.

    The other side was seen to raise, or to die, or a failure of this change came first. `decided`
    are the attributions of all failures of the job.
    """
    lost_connection = case.observed.origin is Origin.FOLLOWS
    if not lost_connection or attribution.cause is not Cause.UNKNOWN:
        return attribution
    server = crash_in_output(case.observed.captured)
    if server is not None:
        return _follows_from_traceback(case, server)
    death = _deadly_error(case)
    if death:
        reason = case.server_death or _came_first(death)
        evidence = (reason, *attribution.evidence)
        return _consequence(case, death, Confidence.MEDIUM, evidence)
    test = _failed_test_of_this_change(decided)
    if test:
        evidence = (_came_first(test), *attribution.evidence)
        return _consequence(case, test, Confidence.LOW, evidence)
    return attribution


def _follows_from_traceback(case: AttributionInput, server: ObservedFailure) -> Attribution:
    """The server's own traceback stands in the output that was captured during the test."""
    if case.linker is None:
        return _consequence(case, server.error, Confidence.MEDIUM, (_came_first(server.error),))
    at = None
    for frame in case.linker.place(server):
        if frame.known:
            at = Location(frame.path, frame.line)
    links = case.linker.reasons(server)
    has_strong_link = any(link.weight >= STRONG for link in links)
    confidence = Confidence.HIGH if has_strong_link else Confidence.MEDIUM
    supporting = [link for link in links if link.weight > 0]
    evidence = (_came_first(server.error, at), *supporting)
    return _consequence(case, server.error, confidence, evidence)


def _deadly_error(case: AttributionInput) -> str:
    """The error that killed the other side, by another failure of the job or by the line in which
    it died.
    """
    for other in case.others:
        if other.category in _DEADLY:
            return other.error
    if case.server_death is None or case.server_death.line is None:
        return ""
    return case.server_death.line.text


def _failed_test_of_this_change(
    decided: Iterable[tuple[ObservedFailure, Attribution]],
) -> str:
    """The first test that failed because of this change. A number that is off kills no server."""
    for observed, attribution in decided:
        is_number = observed.category is Category.NUMERICAL
        if attribution.cause is Cause.THIS_PR and observed.test and not is_number:
            return observed.test
    return ""


def _came_first(first: str, at: Location | None = None) -> Evidence:
    return Evidence(Message(Reason.FIRST, {"first": first}), at)


def _consequence(
    case: AttributionInput, first: str, confidence: Confidence, evidence: tuple[Evidence, ...]
) -> Attribution:
    likely = confidence is Confidence.LOW
    root = Message(Root.CONSEQUENCE, {**case.error, "first": first, "likely": likely})
    return Attribution(Cause.CONSEQUENCE, confidence, root, evidence)
