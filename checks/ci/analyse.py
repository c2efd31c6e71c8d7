"""From a collected run to its report: what failed in every job, why, and what to do.

`analyse` is the whole. `signatures` is what a collector stores about other runs, so that their
failures can be recognised again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import BinaryIO, TypeVar

from checks.ci import coverage, progress
from checks.ci.change_links import ChangeLinker
from checks.ci.job_reading import JobReading, read_job, tells_nothing
from checks.ci.log_failures import failures_in_log
from checks.ci.message_keys import Note
from checks.ci.model import CIRun, Conclusion, Files, Job, Requirement, Status
from checks.ci.predictions import Predictions, collect_predictions, outcomes
from checks.ci.report import CIReport, FailedJob, PatchCoverage, Prediction
from checks.ci.verdicts import failed_job, not_analysed
from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Finding, Message

T = TypeVar("T")
_REQUIRED_FIRST = (Requirement.REQUIRED, Requirement.UNKNOWN, Requirement.OPTIONAL)


@dataclass
class CrashGuard:
    """Runs a part of the analysis whose input comes from strangers.

    A crash there gives `fallback` and a note.

    This is the one broad `except` of the analysis. A classifier that panicked once labelled real
    failures as flaky (pytorch/test-infra PR 5611); what crashes here is reported as not analysed,
    which is unknown.
    """

    notes: list[Message] = field(default_factory=list)

    def run(self, what: str, compute: Callable[[], T], fallback: Callable[[], T]) -> T:
        """What `compute` gives, or `fallback` where it crashes.

        `what` names the part in the note.
        """
        try:
            return compute()
        except Exception as error:
            self.notes.append(Message(Note.CRASHED, {"what": what, "error": type(error).__name__}))
            return fallback()


def analyse(
    run: CIRun,
    files: Files,
    change: ChangeSet | None = None,
    findings: Iterable[Finding] = (),
    config: Config | None = None,
) -> CIReport:
    """The report of `run`.

    Without `change` (the repository at base and head) no failure is linked to a change.

    `findings` are the review's: the failures it predicted are confirmed or refuted. Each log is
    read a few times at most, one block at a time, and only the lines of failures are kept.
    """
    guard = CrashGuard()
    linker = ChangeLinker(change, config or Config()) if change is not None else None
    predictions = collect_predictions(findings)
    bad_jobs = [job for job in run.jobs if job.failed or _skipped_by_need(run, job)]
    readings: dict[str, JobReading] = {}
    for job in [*bad_jobs, *_other_jobs_with_tests(run, bad_jobs)]:
        readings[job.id] = _read(job, files, guard)
    explained = [
        _explain(run, job, readings[job.id], linker, predictions, guard) for job in bad_jobs
    ]
    explained.sort(key=lambda failed: _REQUIRED_FIRST.index(failed.job.requirement))
    return CIReport(
        run=run,
        totals=progress.totals(run),
        failed=tuple(explained),
        missing=progress.missing(run),
        running=progress.running(run),
        predictions=_outcomes(predictions, readings),
        coverage=_coverage(run, files, linker, guard),
        notes=(*_notes(run, linker), *guard.notes),
    )


def signatures(log: BinaryIO) -> tuple[str, ...]:
    """The signatures of the failures in a raw log, sorted; for `Past.signature` and
    `Attempt.signatures`.
    """
    failures, _ = failures_in_log(log)
    return tuple(sorted({failure.signature for failure in failures} - {""}))


def says_nothing(log: BinaryIO) -> bool:
    """Whether no rule explains a raw log: it says at most that a step ended."""
    guard = CrashGuard()
    return guard.run("log", lambda: _says_nothing(log), lambda: False)


def _says_nothing(log: BinaryIO) -> bool:
    failures, _ = failures_in_log(log)
    return all(tells_nothing(failure) for failure in failures)


def _skipped_by_need(run: CIRun, job: Job) -> bool:
    """Whether the job was skipped because one that it needs failed."""
    if job.conclusion is not Conclusion.SKIPPED:
        return False
    for needed_id in job.needs:
        needed = run.job(needed_id)
        if needed is not None and needed.failed:
            return True
    return False


def _other_jobs_with_tests(run: CIRun, bad_jobs: list[Job]) -> list[Job]:
    """Jobs that did not fail but have test results: they can refute a prediction."""
    jobs = []
    for job in run.jobs:
        if job.status is Status.COMPLETED and job.junit and job not in bad_jobs:
            jobs.append(job)
    return jobs


def _read(job: Job, files: Files, guard: CrashGuard) -> JobReading:
    return guard.run(job.name, lambda: read_job(job, files), JobReading)


def _explain(
    run: CIRun,
    job: Job,
    reading: JobReading,
    linker: ChangeLinker | None,
    predictions: Predictions,
    guard: CrashGuard,
) -> FailedJob:
    """The job explained; where that crashes, without the change; where that crashes too, not at
    all.
    """

    def explain_without_change() -> FailedJob:
        return guard.run(
            job.name,
            lambda: failed_job(run, job, reading, None, Predictions()),
            lambda: not_analysed(job),
        )

    return guard.run(
        job.name,
        lambda: failed_job(run, job, reading, linker, predictions),
        explain_without_change,
    )


def _outcomes(predictions: Predictions, readings: dict[str, JobReading]) -> tuple[Prediction, ...]:
    failed = {}
    passed: set[str] = set()
    for job_id, reading in readings.items():
        failed[job_id] = tuple(failure for failure in reading.failures if failure.test)
        passed |= reading.passed
    return tuple(outcomes(predictions.failures, failed, frozenset(passed)))


def _coverage(
    run: CIRun, files: Files, linker: ChangeLinker | None, guard: CrashGuard
) -> PatchCoverage | None:
    if linker is None or not run.coverage:
        return None
    change, config = linker.change, linker.config
    return guard.run(
        "coverage", lambda: coverage.of_patch(run, files, change, config), lambda: None
    )


def _notes(run: CIRun, linker: ChangeLinker | None) -> list[Message]:
    notes = []
    if not run.required_known:
        notes.append(Message(Note.REQUIRED_UNKNOWN))
    if linker is None:
        notes.append(Message(Note.NO_CHANGE))
    notes += [Message(problem) for problem in run.problems]
    return notes
