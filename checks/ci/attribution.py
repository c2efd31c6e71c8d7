"""Whose a failure is, with the evidence for it. What the evidence does not carry is unknown.

The steps are tried in the order of how sure their kind of evidence is. Flaky and infrastructure
need evidence of their own: that no link to the change was found is never a reason for either.
"""

from __future__ import annotations

import re

from checks.ci import earlier_runs
from checks.ci.attribution_input import Attribution, AttributionInput, unknown_cause
from checks.ci.change_links import ENOUGH, STRONG
from checks.ci.classify import Origin
from checks.ci.infrastructure import attribute_to_infrastructure, attribute_to_setup
from checks.ci.message_keys import Reason, Root
from checks.ci.model import Conclusion, Job
from checks.ci.predictions import baseline_evidence, confirmed_by
from checks.ci.report import Category, Cause, Evidence
from checks.core.finding import Confidence, Location, Message

_STOPPED = (Category.SKIPPED_NEED, Category.CANCELLED, Category.UNKNOWN)
# A coverage gate that looks at the diff alone says so.
_OF_DIFF = re.compile(r"(?i)\b(?:diff|patch)\b|is below")
_NOWHERE = Location("", 0)
_LINK_ROOTS = {
    Reason.FRAME_LINE: Root.IN_CHANGED,
    Reason.FRAME_FUNCTION: Root.IN_CHANGED,
    Reason.FRAME_FILE: Root.IN_CHANGED_FILE,
    Reason.COMPILER: Root.IN_CHANGED_FILE,
    Reason.TEST_CHANGED: Root.TEST_CHANGED,
    Reason.OP: Root.OP,
}


def attribute(case: AttributionInput) -> Attribution:
    """The cause of one failure.

    That it follows from another failure of the job is decided afterwards, by
    `attribute_consequence`, because that needs the causes of all of them.
    """
    steps = (
        _attribute_to_person,
        _attribute_to_needed_job,
        _attribute_to_prediction,
        _attribute_to_baseline,
        _attribute_by_history,
        _attribute_by_links,
        attribute_to_infrastructure,
        _attribute_to_diff_gate,
    )
    for step in steps:
        attribution = step(case)
        if attribution is not None:
            return attribution
    return unknown_cause(case)


def attribute_without_log(case: AttributionInput) -> Attribution:
    """The cause of a failed job of which nothing could be read. "No log" is never a reason to call
    it flaky.
    """
    job = case.job
    if job.conclusion is Conclusion.ACTION_REQUIRED:
        return _needs_approval(job, "")
    attribution = (
        _attribute_to_person(case) or _attribute_to_needed_job(case) or attribute_to_setup(case)
    )
    if attribution is not None:
        return attribution
    root = Message(Root.NO_LOG, {"state": str(job.log_state)})
    evidence = () if job.runner else (Evidence(Message(Reason.NO_RUNNER)),)
    return Attribution(Cause.UNKNOWN, Confidence.LOW, root, evidence)


def _attribute_to_person(case: AttributionInput) -> Attribution | None:
    """An approval that is missing, or a description that does not follow the template."""
    observed = case.observed
    if observed.category is Category.APPROVAL:
        who = observed.error if observed.origin is Origin.PERSON else ""
        return _needs_approval(case.job, who)
    if observed.category is Category.PR_TEMPLATE or observed.origin is Origin.PERSON:
        root = Message(Root.PERSON, {"error": observed.error or case.job.name})
        return Attribution(Cause.PERSON, Confidence.HIGH, root)
    return None


def _needs_approval(job: Job, who: str) -> Attribution:
    root = Message(Root.APPROVAL, {"name": job.name, "said": who})
    return Attribution(Cause.PERSON, Confidence.HIGH, root)


def _attribute_to_needed_job(case: AttributionInput) -> Attribution | None:
    """A job that waited for a failed one, or that was stopped when another failed."""
    failed_names = []
    for needed_id in case.job.needs:
        needed = case.run.job(needed_id)
        if needed is not None and needed.failed:
            failed_names.append(needed.name)
    if failed_names and case.observed.category in _STOPPED:
        root = Message(Root.NEED, {"needs": ", ".join(failed_names)})
        evidence = tuple(
            Evidence(Message(Reason.NEED_FAILED, {"name": name})) for name in failed_names
        )
        return Attribution(Cause.CONSEQUENCE, Confidence.HIGH, root, evidence)
    if case.observed.category is Category.CANCELLED:
        return Attribution(Cause.UNKNOWN, Confidence.LOW, Message(Root.CANCELLED))
    return None


def _attribute_to_prediction(case: AttributionInput) -> Attribution | None:
    """The review predicted this failure of this test."""
    confirmed = confirmed_by(case.observed, case.predictions.failures)
    if not confirmed:
        return None
    prediction = confirmed[0].failure
    args = {
        "test": prediction.test,
        "expression": prediction.expression,
        "value": prediction.value,
        "exception": case.observed.error,
        "path": prediction.raised_at.path,
        "line": prediction.raised_at.start_line,
    }
    predicted = [item.evidence() for item in confirmed]
    supporting = [link for link in case.links if link.weight > 0]
    evidence = (*predicted, *supporting)
    return Attribution(Cause.THIS_PR, Confidence.HIGH, Message(Root.PREDICTED, args), evidence)


def _attribute_to_baseline(case: AttributionInput) -> Attribution | None:
    """A number that differs from a stored one, which the review showed that the change reaches.

    Whether the new number is meant is for people to say; but it comes from this change.
    """
    if case.observed.category is not Category.NUMERICAL:
        return None
    shown = baseline_evidence(case.observed, case.predictions.baselines)
    if shown is None or earlier_runs.on_base(case.run, case.job, case.observed):
        return None
    reason, records = shown
    at = reason.location or _NOWHERE
    what = reason.message.args["what"]
    args = {**case.error, "what": what, "path": at.path, "line": at.start_line}
    if records is None:
        root = Message(Root.BASELINE, args)
        return Attribution(Cause.THIS_PR, Confidence.MEDIUM, root, (reason,))
    key = Root.BASELINE_SAFE if records.safe else Root.BASELINE_COMPARED
    root = Message(key, {**args, "verdict": records.verdict})
    confidence = Confidence.MEDIUM if records.open else Confidence.HIGH
    compared = Evidence(Message(Reason.RECORDS, {"verdict": records.verdict}))
    return Attribution(Cause.THIS_PR, confidence, root, (reason, compared))


def _attribute_by_history(case: AttributionInput) -> Attribution | None:
    """The base branch, or flakiness, by what other runs say.

    Where the failure stands in code that the change altered, the evidence of both sides is shown
    and neither is claimed.
    """
    strong_links = tuple(link for link in case.links if link.weight >= ENOUGH)
    on_base = earlier_runs.on_base(case.run, case.job, case.observed)
    passed = earlier_runs.passed_here(case.run, case.job, case.observed)
    on_others = earlier_runs.on_others(case.run, case.job, case.observed)
    if not on_base and not passed and not on_others:
        return None
    repeated = earlier_runs.repeated(case.job, case.observed)
    is_number = case.observed.category is Category.NUMERICAL
    if strong_links and (is_number or not on_base):
        evidence = (*strong_links, *on_base, *passed, *on_others, *repeated)
        return unknown_cause(case, evidence)
    if on_base:
        commit = on_base[0].past.commit if on_base[0].past else ""
        root = Message(Root.BASE, {**case.error, "commit": commit})
        return Attribution(Cause.BASE, Confidence.HIGH, root, (*on_base, *repeated))
    if passed:
        root = Message(Root.FLAKY_RERUN, {**case.error, "attempts": len(passed)})
        return Attribution(Cause.FLAKY, Confidence.HIGH, root, (*passed, *on_others))
    root = Message(Root.FLAKY_OTHERS, {**case.error, "count": len(on_others)})
    return Attribution(Cause.FLAKY, Confidence.MEDIUM, root, (*on_others, *repeated))


def _attribute_by_links(case: AttributionInput) -> Attribution | None:
    """This change, where the links to it weigh enough."""
    if case.observed.origin is Origin.INFRASTRUCTURE or not case.links:
        return None
    total = sum(link.weight for link in case.links)
    heaviest = max(case.links, key=lambda link: link.weight)
    best = heaviest.weight
    # A lost connection usually follows from another failure, so that weak links alone do not
    # explain it.
    least_total = STRONG if case.observed.origin is Origin.FOLLOWS else ENOUGH
    if best < STRONG and (total < least_total or best < 3):
        return None
    return Attribution(
        Cause.THIS_PR, _link_confidence(best, total), _link_root(heaviest, case), case.links
    )


def _link_confidence(best: int, total: int) -> Confidence:
    if best < ENOUGH:
        return Confidence.LOW
    if best > STRONG:
        return Confidence.HIGH
    if best == STRONG and total > STRONG:
        return Confidence.HIGH
    return Confidence.MEDIUM


def _link_root(heaviest: Evidence, case: AttributionInput) -> Message:
    at = heaviest.location or _NOWHERE
    args = {**case.error, "path": at.path, "line": at.start_line, **heaviest.message.args}
    key = _LINK_ROOTS.get(Reason(heaviest.message.key), Root.LINKED)
    return Message(key, args)


def _attribute_to_diff_gate(case: AttributionInput) -> Attribution | None:
    """A coverage gate that looks at the diff alone."""
    observed = case.observed
    if observed.category is Category.COVERAGE_GATE and _OF_DIFF.search(observed.text):
        return Attribution(Cause.THIS_PR, Confidence.MEDIUM, Message(Root.UNKNOWN, case.error))
    return None
