"""What to do about a failure: suggestions with their place, what to look at, and whether to run it again."""

from __future__ import annotations

from collections.abc import Iterator

from checks.ci.attribution import AttributionInput, Attribution
from checks.ci.message_keys import Advice, Reason, Root
from checks.ci.model import Job
from checks.ci.observed_failures import ObservedFailure
from checks.ci.predictions import confirmed_by
from checks.ci.report import Category, Cause, Rerun, Suggestion
from checks.core.finding import Location, Message

MOST = 8
_IN_CHANGE = frozenset(
    {
        Reason.FRAME_LINE,
        Reason.FRAME_FUNCTION,
        Reason.FRAME_FILE,
        Reason.OP,
        Reason.IMPORTS,
        Reason.BASELINE,
    }
)


def rerun(seen: ObservedFailure, cause: Cause, job: Job) -> Rerun:
    """Infrastructure is run again once; a number that was off only gets more samples, whatever its cause."""
    if seen.category is Category.NUMERICAL:
        return Rerun.SAMPLES
    match cause:
        case Cause.INFRASTRUCTURE:
            return Rerun.ONCE if job.attempt == 1 else Rerun.ASK
        case Cause.THIS_PR | Cause.BASE:
            return Rerun.AFTER_FIX
        case Cause.CONSEQUENCE:
            return Rerun.WITH_CAUSE
        case Cause.PERSON:
            return Rerun.NO
        case _:
            return Rerun.ASK


def suggestions(case: AttributionInput, verdict: Attribution) -> tuple[Suggestion, ...]:
    """At most `MOST`, the surest first, each place once."""
    found: dict[tuple[str, Location | None], Suggestion] = {}
    for item in (
        *_by_evidence(case, verdict),
        *_by_category(case, verdict),
        *_by_cause(case, verdict),
    ):
        found.setdefault((item.message.key, item.location), item)
    chosen = tuple(found.values())[:MOST]
    return chosen or (Suggestion(Message(Advice.READ_LOG)),)


def _by_evidence(case: AttributionInput, verdict: Attribution) -> Iterator[Suggestion]:
    for item in confirmed_by(case.seen, case.foretold.failures):
        message = Message(Advice.UPDATE_FIXTURE, {"expression": item.failure.expression})
        yield Suggestion(message, item.failure.fixture)
        for other in item.finding.related:
            yield Suggestion(message, other.location)
    if verdict.cause not in (Cause.THIS_PR, Cause.UNKNOWN):
        return
    for evidence in verdict.evidence:
        function = evidence.message.args.get("function")
        if evidence.message.key in (Reason.FRAME_LINE, Reason.FRAME_FUNCTION, Reason.OP):
            yield Suggestion(Message(Advice.LOOK_AT, {"function": function}), evidence.location)
        elif evidence.message.key == Reason.FRAME_FILE:
            yield Suggestion(Message(Advice.LOOK_AT_FILE), evidence.location)


def _by_category(case: AttributionInput, verdict: Attribution) -> Iterator[Suggestion]:
    seen = case.seen
    last = case.frames[-1] if case.frames else None
    at = Location(last.path, last.line) if last is not None and last.known else None
    match seen.category:
        case Category.NUMERICAL:
            safe = verdict.root.key == Root.BASELINE_SAFE
            yield Suggestion(Message(Advice.RECORD_ANEW if safe else Advice.CHECK_BASELINE), at)
            yield Suggestion(Message(Advice.NEVER_RERUN))
        case Category.BUILD_ERROR:
            yield Suggestion(Message(Advice.FIX_BUILD, {"error": seen.error}), at)
        case Category.LINT:
            yield Suggestion(Message(Advice.FIX_LINT, {"rule": seen.rule}), at)
        case Category.COVERAGE_GATE:
            yield Suggestion(Message(Advice.ADD_TESTS))
        case Category.APPROVAL:
            yield Suggestion(Message(Advice.APPROVE, {"name": case.job.name}))
        case Category.PR_TEMPLATE:
            yield Suggestion(Message(Advice.FILL_TEMPLATE))
        case Category.DEPENDENCY:
            yield Suggestion(Message(Advice.FIX_DEPENDENCY, {"error": seen.error}))
        case Category.RUNNER_UNHEALTHY | Category.RUNNER_LOST if case.job.runner:
            yield Suggestion(Message(Advice.CHECK_RUNNER, {"runner": case.job.runner}))


def _by_cause(case: AttributionInput, verdict: Attribution) -> Iterator[Suggestion]:
    match verdict.cause:
        case Cause.CONSEQUENCE:
            first = verdict.root.args.get("first") or verdict.root.args.get("needs", "")
            yield Suggestion(Message(Advice.FIX_FIRST, {"first": first}))
        case Cause.BASE:
            yield Suggestion(Message(Advice.WAIT_FOR_BASE, {"commit": verdict.root.args["commit"]}))
        case Cause.INFRASTRUCTURE if rerun(case.seen, verdict.cause, case.job) is Rerun.ONCE:
            yield Suggestion(Message(Advice.RERUN_ONCE))


def related(case: AttributionInput, verdict: Attribution) -> tuple[Location, ...]:
    """Places of the change that the cause names: the prediction's way, and what the links point at."""
    found: list[Location] = []
    for item in confirmed_by(case.seen, case.foretold.failures):
        found += [item.failure.raised_at, item.finding.location]
    found += [
        e.location
        for e in verdict.evidence
        if e.location is not None and e.message.key in _IN_CHANGE
    ]
    exact = [place for place in found if place.start_line > 0]
    return tuple(dict.fromkeys(exact or found))[:MOST]
