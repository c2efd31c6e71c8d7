"""Failures of the machines and of what prepares them."""

from __future__ import annotations

from checks.ci import earlier_runs
from checks.ci.attribution_input import Attribution, AttributionInput, unknown_cause
from checks.ci.classify import Origin
from checks.ci.message_keys import Reason, Root
from checks.ci.model import Conclusion, Job, Step
from checks.ci.report import Cause, Evidence
from checks.ci.setup_steps import changes_to_setup, is_setup
from checks.core.finding import Confidence, Message


def attribute_to_infrastructure(case: AttributionInput) -> Attribution | None:
    """Infrastructure, where the log rule says so, or where preparation failed before any test
    began.
    """
    observed = case.observed
    category = str(observed.category)
    root = Message(Root.INFRASTRUCTURE, {**case.error, "category": category})
    if observed.origin is Origin.INFRASTRUCTURE:
        repeated = earlier_runs.repeated(case.job, observed)
        return Attribution(Cause.INFRASTRUCTURE, Confidence.HIGH, root, repeated)
    if observed.origin is not Origin.SETUP or case.tests_ran:
        return None
    own_changes = changes_to_setup(case.linker, observed.text)
    if own_changes:
        return unknown_cause(case, own_changes)
    step = _failed_step(case.job)
    if step is None:
        return None
    in_setup_step = is_setup(step.name)
    change_is_known = case.linker is not None
    if not in_setup_step and not change_is_known:
        return None
    sure = in_setup_step and change_is_known
    confidence = Confidence.HIGH if sure else Confidence.MEDIUM
    return Attribution(Cause.INFRASTRUCTURE, confidence, root, (_no_step_ran(step),))


def attribute_to_setup(case: AttributionInput) -> Attribution | None:
    """A job without a log whose timeline shows that none of its own steps began."""
    job = case.job
    broken = _failed_step(job)
    if not job.runner or broken is None:
        return None
    for step in job.steps:
        ran = step.conclusion is not Conclusion.SKIPPED
        if ran and not is_setup(step.name):
            return None
    if changes_to_setup(case.linker, case.observed.text):
        return None
    root = Message(Root.NEVER_STARTED, {"step": broken.name})
    return Attribution(Cause.INFRASTRUCTURE, Confidence.MEDIUM, root, (_no_step_ran(broken),))


def _failed_step(job: Job) -> Step | None:
    for step in job.steps:
        if step.conclusion.failed:
            return step
    return None


def _no_step_ran(step: Step) -> Evidence:
    return Evidence(Message(Reason.NO_STEP_RAN, {"step": step.name}))
