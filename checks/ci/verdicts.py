"""One failed job with its failures explained, and which of them speaks for the job."""

from __future__ import annotations

from checks.ci import advice
from checks.ci.attribution import (
    AttributionInput,
    Attribution,
    attribute,
    attribute_consequence,
    attribute_without_log,
)
from checks.ci.change_links import ChangeLinker
from checks.ci.job_reading import JobReading
from checks.ci.message_keys import Note, Reason, Root
from checks.ci.model import CIRun, Job
from checks.ci.observed_failures import MOST_LINES, ObservedFailure
from checks.ci.predictions import Predictions
from checks.ci.report import Category, Cause, Evidence, FailedJob, Failure, LogLine, Rerun
from checks.core.finding import Confidence, Message

MOST_FAILURES = 50
# Which failure speaks for the job: what this change must mend first, and what is not explained before what is excused.
_SPEAKS = (
    Cause.THIS_PR,
    Cause.UNKNOWN,
    Cause.BASE,
    Cause.INFRASTRUCTURE,
    Cause.PERSON,
    Cause.FLAKY,
    Cause.CONSEQUENCE,
)


def failed_job(
    run: CIRun, job: Job, read: JobReading, linker: ChangeLinker | None, told: Predictions
) -> FailedJob:
    """The job's failures with their causes. `linker` is None where the repository is not known."""
    seen = read.seen or (ObservedFailure(Category.UNKNOWN, ""),)
    cases = [_case(run, job, s, read, linker, told) for s in seen[:MOST_FAILURES]]
    first = [
        (c, attribute(c) if read.logged or c.seen.error else attribute_without_log(c))
        for c in cases
    ]
    decided = [(c.seen, v) for c, v in first]
    failures = tuple(_failure(c, attribute_consequence(c, v, decided)) for c, v in first)
    sure = list(Confidence)
    main = min(
        failures,
        key=lambda f: (not _whole(f, seen), _SPEAKS.index(f.cause), sure.index(f.confidence)),
    )
    left = max(0, len(seen) - MOST_FAILURES)
    notes = (*read.notes, *((Message(Note.MANY_FAILURES, {"count": left}),) if left else ()))
    return FailedJob(job, main, failures, _lines(main, failures), left, notes)


def _case(
    run: CIRun,
    job: Job,
    seen: ObservedFailure,
    read: JobReading,
    linker: ChangeLinker | None,
    told: Predictions,
) -> AttributionInput:
    died = read.marks.get("server-died")
    first = (
        Evidence(Message(Reason.FIRST, {"first": died.text}), line=died)
        if died is not None
        else None
    )
    others = tuple(s for s in read.seen if s is not seen)
    return AttributionInput(
        run, job, seen, others, first, "tests-started" in read.marks, linker, told
    )


def _failure(case: AttributionInput, verdict: Attribution) -> Failure:
    seen = case.seen
    rule = Evidence(
        Message(Reason.JUNIT, {"test": seen.test})
        if seen.structured
        else Message(Reason.RULE, {"rule": seen.rule, "category": str(seen.category)}),
        line=_telling(seen) if seen.lines else None,
    )
    return Failure(
        category=seen.category,
        cause=verdict.cause,
        confidence=verdict.confidence,
        root=verdict.root,
        test=seen.test,
        error=seen.error,
        rule=seen.rule,
        signature=seen.signature,
        frames=case.frames,
        evidence=(*verdict.evidence, *((rule,) if seen.rule or seen.structured else ())),
        lines=seen.lines,
        suggestions=advice.suggestions(case, verdict),
        related=advice.related(case, verdict),
        rerun=advice.rerun(seen, verdict.cause, case.job),
    )


def _whole(failure: Failure, seen: tuple[ObservedFailure, ...]) -> bool:
    """Whether the job itself died of this and the cause is known, so that its tests' results are not the point."""
    return failure.cause is not Cause.UNKNOWN and any(
        s.whole_job and not failure.test and s.rule == failure.rule for s in seen
    )


def _lines(main: Failure, failures: tuple[Failure, ...]) -> tuple[LogLine, ...]:
    """Ten lines at most, of the main failure, then one of every other, each text once; as the log has them."""
    rest = [_telling(f) for f in failures if f is not main and f.lines]
    found: dict[str, LogLine] = {}
    for line in [*main.lines, *rest]:
        found.setdefault(line.text, line)
    return tuple(sorted(list(found.values())[:MOST_LINES], key=lambda line: line.number))


def _telling(failure: Failure | ObservedFailure) -> LogLine:
    """The line that has the error, else the last."""
    errors = [line for line in failure.lines if failure.error and failure.error in line.text]
    return (errors or failure.lines)[-1]


def not_analysed(job: Job) -> FailedJob:
    """A job on which the analysis itself crashed: unknown, and nothing else."""
    root = Message(Root.NOT_ANALYSED, {"what": job.name})
    failure = Failure(Category.UNKNOWN, Cause.UNKNOWN, Confidence.LOW, root, rerun=Rerun.ASK)
    return FailedJob(job, failure, (failure,))
