"""Everything that can be read of one job: its JUnit files, its log, and what GitHub itself says of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import BinaryIO

from checks.ci import junit, log_failures
from checks.ci.classify import Scan, scan_text
from checks.ci.message_keys import JUnitProblem, Note
from checks.ci.model import Conclusion, Files, Job
from checks.ci.observed_failures import ObservedFailure, test_failure
from checks.ci.report import Category, LogLine
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


@dataclass(frozen=True)
class JobReading:
    """`seen`: failures, the whole job's first; `marks`: facts of the log by name; `logged`: whether any text was
    there."""

    seen: tuple[ObservedFailure, ...] = ()
    passed: frozenset[str] = frozenset()
    marks: Mapping[str, LogLine] = field(default_factory=dict)
    logged: bool = False
    notes: tuple[Message, ...] = ()


def read_job(job: Job, files: Files) -> JobReading:
    """What failed in `job`: structured results first, then the log, then GitHub's own words."""
    results, notes = _results(job, files)
    found, scan = _log(job, files)
    tests = tuple(_of_case(c) for r in results for c in r.failed)
    passed = frozenset(test for r in results for test in r.passed)
    by_test = {s.test: s for s in found if s.test}
    merged = tuple(_with_log(t, by_test[t.test]) if t.test in by_test else t for t in tests)
    whole = tuple(s for s in found if not s.test and (_of_job(s) or not tests))
    seen = (*whole, *(merged or tuple(by_test.values())))
    if not seen or all(s.category is Category.UNKNOWN for s in seen):
        seen = tuple(_said(job, seen))
    if scan is not None and scan.size == 0:
        notes = (*notes, Message(Note.LOG_EMPTY))
    marks = scan.marks if scan is not None else {}
    return JobReading(
        seen,
        passed,
        marks,
        bool(found) or bool(tests) or (scan is not None and scan.size > 0),
        notes,
    )


def _of_case(case: junit.FailedCase) -> ObservedFailure:
    """A structured result, with what the file has of other processes' words (pytest's `junit_logging`)."""
    seen = test_failure(case.test, case.message, case.text, structured=True)
    return (
        replace(seen, captured=(*seen.captured, *case.errors.split("\n"))) if case.errors else seen
    )


def _with_log(test: ObservedFailure, logged: ObservedFailure) -> ObservedFailure:
    """A structured result with the log's line numbers and what other processes printed."""
    return replace(test, lines=logged.lines, captured=logged.captured or test.captured)


def _of_job(seen: ObservedFailure) -> bool:
    """Whether the job died of it, whatever its tests said."""
    return seen.whole_job and seen.category is not Category.UNKNOWN


def _results(job: Job, files: Files) -> tuple[list[junit.JUnitResults], tuple[Message, ...]]:
    results: list[junit.JUnitResults] = []
    notes: list[Message] = []
    for path in job.junit:
        stream = files.open(path)
        problem: JUnitProblem | None = JUnitProblem.ABSENT
        if stream is not None:
            with stream:
                results.append(junit.read(stream))
            problem = results[-1].problem
        if problem is not None:
            notes.append(Message(Note.JUNIT_BROKEN, {"path": path, "why": str(problem)}))
    return results, tuple(notes)


def _log(job: Job, files: Files) -> tuple[tuple[ObservedFailure, ...], Scan | None]:
    stream = files.open(job.log) if job.log else None
    if stream is None:
        return (), None
    with stream:
        return _of_step(stream, job)


def _of_step(stream: BinaryIO, job: Job) -> tuple[tuple[ObservedFailure, ...], Scan]:
    """The failed step's part of the log where it tells anything, else all of it: servers' logs are often printed
    by a later step."""
    within = _times(job)
    if within is not None:
        found, scan = log_failures.failures_in_log(stream, within)
        if scan.top is not None and any(s.category is not Category.UNKNOWN for s in found):
            return found, scan
        stream.seek(0)
    return log_failures.failures_in_log(stream)


def _times(job: Job) -> tuple[datetime, datetime] | None:
    step = next((s for s in job.steps if s.conclusion.failed), None)
    if step is None or step.started is None or step.completed is None:
        return None
    return step.started, step.completed


def _said(job: Job, seen: tuple[ObservedFailure, ...]) -> Iterator[ObservedFailure]:
    """What the check says of itself: its output, its annotations, its name, its conclusion."""
    texts = [
        job.summary,
        *(f"{a.path}:{a.line}: {a.message}" if a.path else a.message for a in job.annotations),
    ]
    text = "\n".join(t for t in texts if t)[:20_000]
    top = scan_text(text).top if text else None
    named = next((category for category, name in _BY_NAME if name.search(job.name)), None)
    if top is not None and top.rule.category is not Category.UNKNOWN:
        yield ObservedFailure(
            top.rule.category,
            top.line.text,
            "",
            top.rule.name,
            top.rule.origin,
            lines=(top.line,),
            text=text,
        )
    elif named is not None or job.conclusion in _BY_CONCLUSION:
        category = named or _BY_CONCLUSION[job.conclusion]
        first = seen[0] if seen else ObservedFailure(category, "")
        yield replace(first, category=category)
    else:
        yield from seen
