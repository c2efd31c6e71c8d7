"""What to do about a failure: suggestions with their place, what to look at, and whether to run it
again.
"""

from __future__ import annotations

from collections.abc import Iterator

from checks.ci.attribution_input import Attribution, AttributionInput
from checks.ci.category_advice import category_advice
from checks.ci.message_keys import Advice, Reason, Root
from checks.ci.model import Job
from checks.ci.observed_failures import ObservedFailure
from checks.ci.predictions import confirmed_by
from checks.ci.report import Category, Cause, Rerun, Suggestion
from checks.core.finding import Location, Message

MOST = 8
# Evidence whose location is a place of the change.
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
_IN_FUNCTION = (Reason.FRAME_LINE, Reason.FRAME_FUNCTION, Reason.OP)


def rerun(observed: ObservedFailure, cause: Cause, job: Job) -> Rerun:
    """Whether to run the job again.

    Infrastructure is run again once. A number that was off only gets more samples, whatever its
    cause.
    """
    if observed.category is Category.NUMERICAL:
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


def suggestions(case: AttributionInput, attribution: Attribution) -> tuple[Suggestion, ...]:
    """At most `MOST` suggestions, the surest first, each of them once for a place."""
    candidates = [
        *_from_predictions(case),
        *_from_evidence(attribution),
        *_from_category(case, attribution),
        *_from_cause(case, attribution),
    ]
    distinct: dict[tuple[str, str, Location | None], Suggestion] = {}
    for suggestion in candidates:
        said = suggestion.message
        distinct.setdefault((said.key, _whose(said), suggestion.location), suggestion)
    chosen = tuple(distinct.values())[:MOST]
    if chosen:
        return chosen
    has_log = attribution.root.key != Root.NO_LOG
    return (Suggestion(Message(Advice.READ_LOG if has_log else Advice.READ_PAGE)),)


def _whose(said: Message) -> str:
    """What tells two suggestions of one key apart: each missing approval has people of its own."""
    if said.key != Advice.APPROVE_BY:
        return ""
    return f"{said.args['what']} {said.args['people']}"


def _from_predictions(case: AttributionInput) -> Iterator[Suggestion]:
    """Mend the fixtures that the review said would break."""
    for item in confirmed_by(case.observed, case.predictions.failures):
        args = {
            "expression": item.failure.expression,
            "written": item.finding.message.args.get("written", ""),
        }
        message = Message(Advice.UPDATE_FIXTURE, args)
        yield Suggestion(message, item.failure.fixture)
        for place in item.finding.related:
            yield Suggestion(message, place.location)


def _from_evidence(attribution: Attribution) -> Iterator[Suggestion]:
    """Look at the places of the change that the evidence names."""
    if attribution.cause not in (Cause.THIS_PR, Cause.UNKNOWN):
        return
    for evidence in attribution.evidence:
        message = evidence.message
        if message.key in _IN_FUNCTION:
            args = {"function": message.args.get("function")}
            yield Suggestion(Message(Advice.LOOK_AT, args), evidence.location)
        elif message.key == Reason.FRAME_FILE:
            yield Suggestion(Message(Advice.LOOK_AT_FILE), evidence.location)


def _from_category(case: AttributionInput, attribution: Attribution) -> Iterator[Suggestion]:
    at = _place_of_error(case)
    if case.observed.category is Category.NUMERICAL:
        is_safe = attribution.root.key == Root.BASELINE_SAFE
        yield Suggestion(Message(Advice.RECORD_ANEW if is_safe else Advice.CHECK_BASELINE), at)
        yield Suggestion(Message(Advice.NEVER_RERUN))
    yield from category_advice(case, at)


def _place_of_error(case: AttributionInput) -> Location | None:
    """The innermost frame, where that is a file of the repository."""
    if not case.frames:
        return None
    innermost = case.frames[-1]
    return Location(innermost.path, innermost.line) if innermost.known else None


def _from_cause(case: AttributionInput, attribution: Attribution) -> Iterator[Suggestion]:
    args = attribution.root.args
    match attribution.cause:
        case Cause.CONSEQUENCE:
            first = args.get("first") or args.get("needs", "")
            yield Suggestion(Message(Advice.FIX_FIRST, {"first": first}))
        case Cause.BASE:
            yield Suggestion(Message(Advice.WAIT_FOR_BASE, {"commit": args["commit"]}))
        case Cause.INFRASTRUCTURE:
            if rerun(case.observed, attribution.cause, case.job) is Rerun.ONCE:
                yield Suggestion(Message(Advice.RERUN_ONCE, {"url": case.job.rerun_url}))


def related(case: AttributionInput, attribution: Attribution) -> tuple[Location, ...]:
    """Places of the change that the cause names: those of confirmed predictions, and those of the
    links.
    """
    places: list[Location] = []
    for item in confirmed_by(case.observed, case.predictions.failures):
        # The line that reads otherwise now, and those that write what it reads.
        args = item.finding.message.args
        named = [args.get("changed"), *args.get("senders", ())]
        places += [place for place in named if isinstance(place, Location)]
        places += [item.failure.raised_at, item.finding.location]
    for evidence in attribution.evidence:
        if evidence.location is not None and evidence.message.key in _IN_CHANGE:
            places.append(evidence.location)
    with_line = [place for place in places if place.start_line > 0]
    return tuple(dict.fromkeys(with_line or places))[:MOST]
