"""Everything that can be read about one job: its JUnit files, its log, and what GitHub itself says
about it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import BinaryIO

from checks.ci import earlier_logs, junit, log_failures
from checks.ci.classify import Scan, scan_text
from checks.ci.earlier_logs import EarlierLogs
from checks.ci.message_keys import JUnitProblem, Note
from checks.ci.model import Annotation, Conclusion, Files, Job
from checks.ci.observed_failures import MOST_LINES, ObservedFailure, observe_failed_test
from checks.ci.report import Category, LogLine
from checks.ci.unusual_lines import unusual_lines
from checks.core.finding import Message

_BY_NAME = (
    (Category.APPROVAL, re.compile(r"(?i)\bapprov(?:al|e)")),
    (
        Category.PR_TEMPLATE,
        re.compile(r"(?i)\b(?:pr|pull[ _-]request)[ _-]?(?:template|title|body|description)\b"),
    ),
)
_BY_CONCLUSION = {
    Conclusion.CANCELLED: Category.CANCELLED,
    Conclusion.TIMED_OUT: Category.TIMEOUT,
    Conclusion.ACTION_REQUIRED: Category.APPROVAL,
    Conclusion.SKIPPED: Category.SKIPPED_NEED,
}
# Characters of a check's own output that are looked at.
_LONGEST_OUTPUT = 20_000


@dataclass(frozen=True)
class JobReading:
    """What was read about one job.

    `failures` are those of the whole job, then those of its tests; `marks` are facts of the log by
    name; `logged` says whether there was any text at all.
    """

    failures: tuple[ObservedFailure, ...] = ()
    passed: frozenset[str] = frozenset()
    marks: Mapping[str, LogLine] = field(default_factory=dict)
    logged: bool = False
    notes: tuple[Message, ...] = ()


def read_job(job: Job, files: Files) -> JobReading:
    """What failed in `job`: structured results first, then the log, then GitHub's own words."""
    results, notes = _read_results(job, files)
    tests: list[ObservedFailure] = []
    passed: set[str] = set()
    for result in results:
        tests += [_observe_case(case) for case in result.failed]
        passed |= result.passed
    from_log, scanned = _read_log(job, files)
    failures = _merge_failures(tests, from_log)
    if all(failure.category is Category.UNKNOWN for failure in failures):
        failures = _failures_by_check(job, failures)
    if failures == from_log and all(tells_nothing(failure) for failure in failures):
        failures = _with_unusual_lines(job, files, failures)
    log_size = 0
    if scanned is not None:
        log_size = scanned.size
        if log_size == 0:
            notes.append(Message(Note.LOG_EMPTY))
    return JobReading(
        failures=failures,
        passed=frozenset(passed),
        marks=scanned.marks if scanned is not None else {},
        logged=bool(from_log) or bool(tests) or log_size > 0,
        notes=tuple(notes),
    )


def tells_nothing(failure: ObservedFailure) -> bool:
    """Whether the failure is only that the job ended."""
    return failure.category is Category.UNKNOWN and failure.rule in ("", "exit")


def _with_unusual_lines(
    job: Job, files: Files, failures: tuple[ObservedFailure, ...]
) -> tuple[ObservedFailure, ...]:
    """The failure, or an unknown one, with the log's most unusual lines."""
    failed = files.open(job.log) if job.log else None
    if failed is None:
        return failures
    passed = files.open(job.passed_log) if job.passed_log else None
    with failed:
        unusual = unusual_lines(failed, passed, _earlier_logs(job, files))
    if passed is not None:
        passed.close()
    if not unusual.lines:
        return failures
    first = failures[0] if failures else ObservedFailure(Category.UNKNOWN, "")
    texts = tuple(line.text for line in unusual.lines)
    lines = (*unusual.lines, *first.lines)[:MOST_LINES]
    guess = replace(
        first,
        lines=lines,
        unusual=texts,
        compared=unusual.compared,
        earlier_logs=unusual.earlier_logs,
        in_earlier_logs=unusual.in_earlier_logs,
    )
    return (guess, *failures[1:])


def _earlier_logs(job: Job, files: Files) -> EarlierLogs:
    stream = files.open(job.earlier_logs) if job.earlier_logs else None
    if stream is None:
        return earlier_logs.NONE
    with stream:
        return earlier_logs.load(stream)


def _merge_failures(
    tests: list[ObservedFailure], from_log: tuple[ObservedFailure, ...]
) -> tuple[ObservedFailure, ...]:
    """The failures of the job itself, then the failed tests: of the JUnit files, or of the log
    where these have none.

    With structured results, a failure of the whole job counts only where the job died of it.
    """
    of_job = [failure for failure in from_log if failure.began or not failure.test]
    logged_tests = {failure.test: failure for failure in from_log if failure not in of_job}
    if not tests:
        return (*of_job, *logged_tests.values())
    merged = []
    for test in tests:
        logged = logged_tests.get(test.test)
        merged.append(_with_log(test, logged) if logged is not None else test)
    deadly = [failure for failure in of_job if _killed_job(failure)]
    return (*deadly, *merged)


def _observe_case(case: junit.FailedCase) -> ObservedFailure:
    """A structured result with the output of other processes in the file (pytest's
    `junit_logging`).
    """
    failure = observe_failed_test(case.test, case.message, case.text, structured=True)
    if not case.errors:
        return failure
    return replace(failure, captured=(*failure.captured, *case.errors.split("\n")))


def _with_log(test: ObservedFailure, logged: ObservedFailure) -> ObservedFailure:
    """A structured result with the log's line numbers, and what other processes printed there."""
    return replace(test, lines=logged.lines, captured=logged.captured or test.captured)


def _killed_job(failure: ObservedFailure) -> bool:
    """Whether the job died of it, whatever its tests said."""
    return failure.whole_job and failure.category is not Category.UNKNOWN


def _read_results(job: Job, files: Files) -> tuple[list[junit.JUnitResults], list[Message]]:
    results: list[junit.JUnitResults] = []
    notes: list[Message] = []
    for path in job.junit:
        stream = files.open(path)
        problem: JUnitProblem | None = JUnitProblem.ABSENT
        if stream is not None:
            with stream:
                result = junit.read(stream)
            results.append(result)
            problem = result.problem
        if problem is not None:
            notes.append(Message(Note.JUNIT_BROKEN, {"path": path, "why": str(problem)}))
    return results, notes


def _read_log(job: Job, files: Files) -> tuple[tuple[ObservedFailure, ...], Scan | None]:
    if not job.log:
        return (), None
    stream = files.open(job.log)
    if stream is None:
        return (), None
    with stream:
        return _read_step_or_all(stream, job)


def _read_step_or_all(stream: BinaryIO, job: Job) -> tuple[tuple[ObservedFailure, ...], Scan]:
    """The failed step's part of the log where it tells anything, else the whole log.

    Servers' logs are often printed by a later step.
    """
    times = _times_of_failed_step(job)
    if times is not None:
        failures, scanned = log_failures.failures_in_log(stream, times)
        tells = any(failure.category is not Category.UNKNOWN for failure in failures)
        if tells and scanned.top is not None:
            return failures, scanned
        stream.seek(0)
    return log_failures.failures_in_log(stream)


def _times_of_failed_step(job: Job) -> tuple[datetime, datetime] | None:
    """When the first failed step began and ended, where both are known."""
    for step in job.steps:
        if not step.conclusion.failed:
            continue
        if step.started is None or step.completed is None:
            return None
        return step.started, step.completed
    return None


def _failures_by_check(
    job: Job, failures: tuple[ObservedFailure, ...]
) -> tuple[ObservedFailure, ...]:
    """What the check says about itself where the log says nothing: its output, its name, its
    conclusion.
    """
    texts = [job.summary, *(_annotation_text(a) for a in job.annotations)]
    text = "\n".join(text for text in texts if text)[:_LONGEST_OUTPUT]
    top = scan_text(text).top if text else None
    if top is not None and top.rule.category is not Category.UNKNOWN:
        failure = ObservedFailure(
            category=top.rule.category,
            error=top.line.text,
            rule=top.rule.name,
            origin=top.rule.origin,
            lines=(top.line,),
            text=text,
        )
        return (failure,)
    category = _category_by_name(job) or _BY_CONCLUSION.get(job.conclusion)
    if category is None:
        return failures
    first = failures[0] if failures else ObservedFailure(category, "")
    return (replace(first, category=category),)


def _annotation_text(annotation: Annotation) -> str:
    if annotation.path:
        return f"{annotation.path}:{annotation.line}: {annotation.message}"
    return annotation.message


def _category_by_name(job: Job) -> Category | None:
    for category, name in _BY_NAME:
        if name.search(job.name):
            return category
    return None
