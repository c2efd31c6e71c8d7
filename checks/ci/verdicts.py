"""One failed job with its failures explained, and which of them speaks for the job."""

from __future__ import annotations

from checks.ci import advice
from checks.ci.attribution import attribute, attribute_without_log
from checks.ci.attribution_input import Attribution, AttributionInput
from checks.ci.change_links import ChangeLinker
from checks.ci.consequence import attribute_consequence
from checks.ci.job_reading import JobReading
from checks.ci.message_keys import Note, Reason, Root
from checks.ci.model import CIRun, Job
from checks.ci.observed_failures import MOST_LINES, ObservedFailure
from checks.ci.predictions import Predictions
from checks.ci.report import Category, Cause, Evidence, FailedJob, Failure, LogLine, Rerun
from checks.core.finding import Confidence, Message

MOST_FAILURES = 50
# Which failure speaks for the job: first what this change must mend, and what is not explained
# before what is excused.
_SPEAKS_FIRST = (
    Cause.THIS_PR,
    Cause.UNKNOWN,
    Cause.BASE,
    Cause.INFRASTRUCTURE,
    Cause.PERSON,
    Cause.FLAKY,
    Cause.CONSEQUENCE,
)
_SUREST_FIRST = tuple(Confidence)


def failed_job(
    run: CIRun,
    job: Job,
    reading: JobReading,
    linker: ChangeLinker | None,
    predictions: Predictions,
) -> FailedJob:
    """The job's failures with their causes. `linker` is None where the repository is not known."""
    observed = reading.failures or (ObservedFailure(Category.UNKNOWN, ""),)
    cases = [
        _input(run, job, failure, reading, linker, predictions)
        for failure in observed[:MOST_FAILURES]
    ]
    first_attributions = [_attribute(case, reading) for case in cases]
    observed_cases = [case.observed for case in cases]
    decided = list(zip(observed_cases, first_attributions, strict=True))
    failures = []
    for case, attribution in zip(cases, first_attributions, strict=True):
        failures.append(_failure(case, attribute_consequence(case, attribution, decided)))
    main = _main_failure(failures, observed)
    left_out = max(0, len(observed) - MOST_FAILURES)
    notes = list(reading.notes)
    if left_out:
        notes.append(Message(Note.MANY_FAILURES, {"count": left_out}))
    lines = _lines_of_all(main, failures)
    return FailedJob(job, main, tuple(failures), lines, left_out, tuple(notes))


def not_analysed(job: Job) -> FailedJob:
    """A job on which the analysis itself crashed: unknown, and nothing else."""
    root = Message(Root.NOT_ANALYSED, {"what": job.name})
    failure = Failure(Category.UNKNOWN, Cause.UNKNOWN, Confidence.LOW, root, rerun=Rerun.ASK)
    return FailedJob(job, failure, (failure,))


def _input(
    run: CIRun,
    job: Job,
    observed: ObservedFailure,
    reading: JobReading,
    linker: ChangeLinker | None,
    predictions: Predictions,
) -> AttributionInput:
    death = None
    death_line = reading.marks.get("server-died")
    if death_line is not None:
        death = Evidence(Message(Reason.FIRST, {"first": death_line.text}), line=death_line)
    return AttributionInput(
        run=run,
        job=job,
        observed=observed,
        others=tuple(other for other in reading.failures if other is not observed),
        server_death=death,
        tests_ran="tests-started" in reading.marks,
        linker=linker,
        predictions=predictions,
    )


def _attribute(case: AttributionInput, reading: JobReading) -> Attribution:
    if reading.logged or case.observed.error:
        return attribute(case)
    return attribute_without_log(case)


def _failure(case: AttributionInput, attribution: Attribution) -> Failure:
    observed = case.observed
    evidence = list(attribution.evidence)
    if observed.rule or observed.structured:
        evidence.append(_classification(observed))
    if observed.named is not None and observed.error not in observed.named.text:
        evidence.append(Evidence(Message(Reason.NAMED), line=observed.named))
    if observed.began is not None:
        evidence.append(Evidence(Message(Reason.RUNNING), line=observed.began))
    return Failure(
        category=observed.category,
        cause=attribution.cause,
        confidence=attribution.confidence,
        root=attribution.root,
        test=observed.test,
        error=observed.error,
        rule=observed.rule,
        signature=observed.signature,
        frames=case.frames,
        evidence=tuple(evidence),
        lines=observed.lines,
        suggestions=advice.suggestions(case, attribution),
        related=advice.related(case, attribution),
        rerun=advice.rerun(observed, attribution.cause, case.job),
    )


def _classification(observed: ObservedFailure) -> Evidence:
    """By what the category is known: the structured result, or the log rule."""
    if observed.structured:
        message = Message(Reason.JUNIT, {"test": observed.test})
    else:
        args = {"rule": observed.rule, "category": str(observed.category)}
        message = Message(Reason.RULE, args)
    line = _error_line(observed) if observed.lines else None
    return Evidence(message, line=line)


def _main_failure(failures: list[Failure], observed: tuple[ObservedFailure, ...]) -> Failure:
    """The failure that speaks for the job: what killed the whole job, then by cause, then the
    surest.
    """

    def rank(pair: tuple[Failure, ObservedFailure]) -> tuple[bool, int, int, bool]:
        failure, seen = pair
        # Where that has no known cause, the results of the tests still matter more.
        explains_all = seen.whole_job and failure.cause is not Cause.UNKNOWN
        cause = _SPEAKS_FIRST.index(failure.cause)
        # A device that failed tells more than an assertion that did.
        is_plain = failure.category is Category.TEST_FAILURE
        return (not explains_all, cause, _SUREST_FIRST.index(failure.confidence), is_plain)

    return min(zip(failures, observed, strict=False), key=rank)[0]


def _lines_of_all(main: Failure, failures: list[Failure]) -> tuple[LogLine, ...]:
    """Ten lines at most: of the main failure, then one of every other, each text once, in the log's
    order.
    """
    lines = list(main.lines)
    for failure in failures:
        if failure is not main and failure.lines:
            lines.append(_error_line(failure))
    by_text: dict[str, LogLine] = {}
    for line in lines:
        by_text.setdefault(line.text, line)
    chosen = list(by_text.values())[:MOST_LINES]
    return tuple(sorted(chosen, key=lambda line: line.number))


def _error_line(failure: Failure | ObservedFailure) -> LogLine:
    """The last line that contains the error, or else the last line of all."""
    if failure.error:
        for line in reversed(failure.lines):
            if failure.error in line.text:
                return line
    return failure.lines[-1]
