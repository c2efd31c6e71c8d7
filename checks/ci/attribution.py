"""Whose a failure is, with the evidence for it. What the evidence does not carry is unknown.

The order is that of how sure each kind of evidence is. Flaky and infrastructure are said only on evidence of their
own, never because a link to the change was not found.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from checks.ci import earlier_runs
from checks.ci.change_links import ENOUGH, STRONG, ChangeLinker
from checks.ci.classify import Origin
from checks.ci.message_keys import Reason, Root
from checks.ci.model import CIRun, Conclusion, Job
from checks.ci.observed_failures import ObservedFailure, crash_in_output
from checks.ci.predictions import Predictions, confirmed_by, baseline_evidence
from checks.ci.report import Category, Cause, Evidence, Frame
from checks.ci.setup_steps import is_setup, changes_to_setup
from checks.core.finding import Confidence, Location, Message

_DEAD = frozenset(
    {
        Category.DEVICE_ERROR,
        Category.DEVICE_OOM,
        Category.HOST_OOM,
        Category.SIGNAL,
        Category.HANG,
        Category.RUNNER_UNHEALTHY,
    }
)
_OF_DIFF = re.compile(r"(?i)\b(?:diff|patch)\b|is below")


@dataclass(frozen=True, slots=True)
class Attribution:
    cause: Cause
    confidence: Confidence
    root: Message
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True)
class AttributionInput:
    """A failure among what else is known: the job's other failures, and the line in which a server was seen to die."""

    run: CIRun
    job: Job
    seen: ObservedFailure
    others: tuple[ObservedFailure, ...] = ()
    died: Evidence | None = None
    tests_ran: bool = False
    linker: ChangeLinker | None = None
    foretold: Predictions = field(default_factory=Predictions)

    @property
    def error(self) -> dict[str, str]:
        return {"error": self.seen.error}

    @cached_property
    def links(self) -> tuple[Evidence, ...]:
        """What ties the failure to the change, the heaviest first; nothing where the change is not known."""
        return self.linker.reasons(self.seen) if self.linker is not None else ()

    @property
    def frames(self) -> tuple[Frame, ...]:
        """The failure's frames, with the repository's paths where it is known."""
        return self.linker.place(self.seen) if self.linker is not None else self.seen.frames


def attribute(case: AttributionInput) -> Attribution:
    """The cause. `CONSEQUENCE` of another failure's cause is settled last, by `follow`."""
    for step in (
        _person,
        _needs,
        _predicted,
        _baseline,
        _by_history,
        _linked,
        _infrastructure,
        _change_by_kind,
    ):
        verdict = step(case)
        if verdict is not None:
            return verdict
    return _unknown(case, ())


def _person(case: AttributionInput) -> Attribution | None:
    if case.seen.category is Category.APPROVAL:
        said = case.seen.error if case.seen.origin is Origin.PERSON else ""
        return Attribution(
            Cause.PERSON,
            Confidence.HIGH,
            Message(Root.APPROVAL, {"name": case.job.name, "said": said}),
        )
    if case.seen.category is Category.PR_TEMPLATE or case.seen.origin is Origin.PERSON:
        return Attribution(
            Cause.PERSON,
            Confidence.HIGH,
            Message(Root.PERSON, {"error": case.seen.error or case.job.name}),
        )
    return None


def _needs(case: AttributionInput) -> Attribution | None:
    """A job that waited for a failed one, or that was stopped when another failed."""
    failed = [j for id in case.job.needs if (j := case.run.job(id)) is not None and j.failed]
    if failed and case.seen.category in (
        Category.SKIPPED_NEED,
        Category.CANCELLED,
        Category.UNKNOWN,
    ):
        reasons = tuple(Evidence(Message(Reason.NEED_FAILED, {"name": j.name})) for j in failed)
        names = ", ".join(j.name for j in failed)
        return Attribution(
            Cause.CONSEQUENCE, Confidence.HIGH, Message(Root.NEED, {"needs": names}), reasons
        )
    if case.seen.category is Category.CANCELLED:
        return Attribution(Cause.UNKNOWN, Confidence.LOW, Message(Root.CANCELLED))
    return None


def _predicted(case: AttributionInput) -> Attribution | None:
    found = confirmed_by(case.seen, case.foretold.failures)
    if not found:
        return None
    first = found[0].failure
    at = first.raised_at
    args = {"test": first.test, "expression": first.expression, "value": first.value}
    root = Message(
        Root.PREDICTED,
        {**args, "exception": case.seen.error, "path": at.path, "line": at.start_line},
    )
    kept = tuple(e for e in case.links if e.weight > 0)
    return Attribution(
        Cause.THIS_PR, Confidence.HIGH, root, (*(p.evidence() for p in found), *kept)
    )


def _baseline(case: AttributionInput) -> Attribution | None:
    """A number that differs from a stored one which the change was shown to reach: meant or not, it comes from here."""
    found = (
        baseline_evidence(case.seen, case.foretold.baselines)
        if case.seen.category is Category.NUMERICAL
        else None
    )
    if found is None or earlier_runs.on_base(case.run, case.job, case.seen):
        return None
    reason, diff = found
    at = reason.location or Location("", 0)
    args = {
        **case.error,
        "what": reason.message.args["what"],
        "path": at.path,
        "line": at.start_line,
    }
    if diff is None:
        return Attribution(
            Cause.THIS_PR, Confidence.MEDIUM, Message(Root.BASELINE, args), (reason,)
        )
    compared = Evidence(Message(Reason.RECORDS, {"verdict": diff.verdict}))
    root = Message(
        Root.BASELINE_SAFE if diff.safe else Root.BASELINE_COMPARED,
        {**args, "verdict": diff.verdict},
    )
    sure = Confidence.MEDIUM if diff.open else Confidence.HIGH
    return Attribution(Cause.THIS_PR, sure, root, (reason, compared))


def _by_history(case: AttributionInput) -> Attribution | None:
    """The base branch or flakiness, unless the failure stands in what the change altered: then both are shown, and
    neither is claimed."""
    strong = tuple(e for e in case.links if e.weight >= ENOUGH)
    base = earlier_runs.on_base(case.run, case.job, case.seen)
    here = earlier_runs.passed_here(case.run, case.job, case.seen)
    others = earlier_runs.on_others(case.run, case.job, case.seen)
    if not (base or here or others):
        return None
    again = earlier_runs.repeated(case.job, case.seen)
    if strong and (case.seen.category is Category.NUMERICAL or not base):
        return _unknown(case, (*strong, *base, *here, *others, *again))
    if base:
        commit = base[0].past.commit if base[0].past else ""
        return Attribution(
            Cause.BASE,
            Confidence.HIGH,
            Message(Root.BASE, {**case.error, "commit": commit}),
            (*base, *again),
        )
    if here:
        root = Message(Root.FLAKY_RERUN, {**case.error, "attempts": len(here)})
        return Attribution(Cause.FLAKY, Confidence.HIGH, root, (*here, *others))
    root = Message(Root.FLAKY_OTHERS, {**case.error, "count": len(others)})
    return Attribution(Cause.FLAKY, Confidence.MEDIUM, root, (*others, *again))


def _linked(case: AttributionInput) -> Attribution | None:
    links = case.links
    best = max((e.weight for e in links), default=0)
    total = sum(e.weight for e in links)
    least = STRONG if case.seen.origin is Origin.FOLLOWS else ENOUGH
    if case.seen.origin is Origin.INFRASTRUCTURE or (best < STRONG and (total < least or best < 3)):
        return None
    first = next(e for e in links if e.weight == best)
    sure = (
        Confidence.HIGH
        if best > STRONG or (best == STRONG and total > STRONG)
        else Confidence.MEDIUM
    )
    sure = sure if best >= ENOUGH else Confidence.LOW
    return Attribution(Cause.THIS_PR, sure, _link_root(first, case), links)


def _link_root(first: Evidence, case: AttributionInput) -> Message:
    at = first.location or Location("", 0)
    args = {**case.error, "path": at.path, "line": at.start_line, **first.message.args}
    roots = {
        Reason.FRAME_LINE: Root.IN_CHANGED,
        Reason.FRAME_FUNCTION: Root.IN_CHANGED,
        Reason.FRAME_FILE: Root.IN_CHANGED_FILE,
        Reason.COMPILER: Root.IN_CHANGED_FILE,
        Reason.TEST_CHANGED: Root.TEST_CHANGED,
        Reason.OP: Root.OP,
    }
    return Message(roots.get(Reason(first.message.key), Root.LINKED), args)


def _infrastructure(case: AttributionInput) -> Attribution | None:
    seen = case.seen
    if seen.origin is Origin.INFRASTRUCTURE:
        root = Message(Root.INFRASTRUCTURE, {**case.error, "category": str(seen.category)})
        return Attribution(
            Cause.INFRASTRUCTURE, Confidence.HIGH, root, earlier_runs.repeated(case.job, seen)
        )
    if seen.origin is not Origin.SETUP or case.tests_ran:
        return None
    step = next((s for s in case.job.steps if s.conclusion.failed), None)
    setup = step is not None and is_setup(step.name)
    own = changes_to_setup(case.linker, seen.text)
    if own:
        return _unknown(case, own)
    if step is None or not (setup or case.linker is not None):
        return None
    evidence = (Evidence(Message(Reason.NO_STEP_RAN, {"step": step.name})),)
    root = Message(Root.INFRASTRUCTURE, {**case.error, "category": str(seen.category)})
    sure = Confidence.HIGH if setup and case.linker is not None else Confidence.MEDIUM
    return Attribution(Cause.INFRASTRUCTURE, sure, root, evidence)


def _change_by_kind(case: AttributionInput) -> Attribution | None:
    """Gates that look at the diff alone."""
    if case.seen.category is Category.COVERAGE_GATE and _OF_DIFF.search(case.seen.text):
        return Attribution(Cause.THIS_PR, Confidence.MEDIUM, Message(Root.UNKNOWN, case.error))
    return None


def _unknown(case: AttributionInput, evidence: tuple[Evidence, ...]) -> Attribution:
    key = Root.NUMERICAL if case.seen.category is Category.NUMERICAL else Root.UNKNOWN
    return Attribution(
        Cause.UNKNOWN, Confidence.LOW, Message(key, case.error), evidence or case.links
    )


def attribute_consequence(
    case: AttributionInput,
    verdict: Attribution,
    decided: Iterable[tuple[ObservedFailure, Attribution]],
) -> Attribution:
    """`CONSEQUENCE` for a lost connection whose other side was seen to raise or die, or whose job has a failure of this
    change that came first; else `verdict`."""
    if case.seen.origin is not Origin.FOLLOWS or verdict.cause is not Cause.UNKNOWN:
        return verdict
    server = crash_in_output(case.seen.captured)
    if server is not None:
        links = case.linker.reasons(server) if case.linker else ()
        sure = Confidence.HIGH if any(e.weight >= STRONG for e in links) else Confidence.MEDIUM
        root = Message(Root.CONSEQUENCE, {**case.error, "first": server.error})
        known = [f for f in (case.linker.place(server) if case.linker else ()) if f.known]
        at = Location(known[-1].path, known[-1].line) if known else None
        reason = Evidence(Message(Reason.FIRST, {"first": server.error}), at)
        return Attribution(
            Cause.CONSEQUENCE, sure, root, (reason, *(e for e in links if e.weight > 0))
        )
    dead = next((s for s in case.others if s.category in _DEAD), None)
    first = dead.error if dead else case.died.line.text if case.died and case.died.line else ""
    if first:
        reason = case.died or Evidence(Message(Reason.FIRST, {"first": first}))
        root = Message(Root.CONSEQUENCE, {**case.error, "first": first})
        return Attribution(Cause.CONSEQUENCE, Confidence.MEDIUM, root, (reason, *verdict.evidence))
    mine = (s for s, v in decided if v.cause is Cause.THIS_PR and s.test)
    own = next(
        (s for s in mine if s.category is not Category.NUMERICAL), None
    )  # a number that is off kills no server
    if own is None:
        return verdict
    root = Message(Root.CONSEQUENCE, {**case.error, "first": own.test})
    reason = Evidence(Message(Reason.FIRST, {"first": own.test}))
    return Attribution(Cause.CONSEQUENCE, Confidence.LOW, root, (reason, *verdict.evidence))


def attribute_without_log(case: AttributionInput) -> Attribution:
    """A failed job of which nothing could be read. "No log" is never a reason to call it flaky."""
    job = case.job
    if job.conclusion is Conclusion.ACTION_REQUIRED:
        return Attribution(
            Cause.PERSON, Confidence.HIGH, Message(Root.APPROVAL, {"name": job.name, "said": ""})
        )
    settled = _person(case) or _needs(case)
    if settled is not None:
        return settled
    ran = [s for s in job.steps if s.conclusion is not Conclusion.SKIPPED]
    own = [s for s in ran if not is_setup(s.name)]
    broken = next((s for s in ran if s.conclusion.failed), None)
    if (
        job.runner
        and broken is not None
        and not own
        and not changes_to_setup(case.linker, case.seen.text)
    ):
        never = (Evidence(Message(Reason.NO_STEP_RAN, {"step": broken.name})),)
        return Attribution(
            Cause.INFRASTRUCTURE,
            Confidence.MEDIUM,
            Message(Root.NEVER_STARTED, {"step": broken.name}),
            never,
        )
    reasons = () if job.runner else (Evidence(Message(Reason.NO_RUNNER)),)
    return Attribution(
        Cause.UNKNOWN, Confidence.LOW, Message(Root.NO_LOG, {"state": str(job.log_state)}), reasons
    )
