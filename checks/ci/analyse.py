"""A collected run to its report: what failed in every job, why, and what to do.

`analyse` is the whole; `signatures` is what a collector stores of other runs, so that their failures can be met again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import BinaryIO, TypeVar

from checks.ci import coverage, progress
from checks.ci.change_links import ChangeLinker
from checks.ci.job_reading import JobReading, read_job
from checks.ci.log_failures import failures_in_log
from checks.ci.message_keys import Note
from checks.ci.model import CIRun, Conclusion, Files, Job, Requirement, Status
from checks.ci.predictions import Predictions, PredictedTest, collect_predictions, outcomes
from checks.ci.report import CIReport, FailedJob, PatchCoverage, Prediction
from checks.ci.verdicts import failed_job, not_analysed
from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Finding, Message

T = TypeVar("T")


@dataclass
class CrashGuard:
    """Runs a part of the analysis whose input is a stranger's; a crash there gives `otherwise` and a note.

    The one broad `except` of the analysis: a classifier that panicked once labelled real failures as flaky
    (pytorch/test-infra PR 5611). What crashes here is reported as not analysed, which is unknown.
    """

    notes: list[Message] = field(default_factory=list)

    def run(self, what: str, make: Callable[[], T], otherwise: Callable[[], T]) -> T:
        try:
            return make()
        except Exception as error:
            self.notes.append(Message(Note.CRASHED, {"what": what, "error": type(error).__name__}))
            return otherwise()


def analyse(
    run: CIRun,
    files: Files,
    change: ChangeSet | None = None,
    findings: Iterable[Finding] = (),
    config: Config | None = None,
) -> CIReport:
    """The report of `run`. Without `change` (the repository at base and head) nothing is linked to it.

    `findings` are the review's: its predicted failures are confirmed or refuted. Reads each log a few times
    at most, a block at a time, and keeps no more of it than failures' own lines.
    """
    guard = CrashGuard()
    linker = ChangeLinker(change, config or Config()) if change is not None else None
    told = collect_predictions(findings)
    bad = [j for j in run.jobs if j.failed or _skipped_by_need(run, j)]
    tested = [j for j in run.jobs if j.status is Status.COMPLETED and j not in bad and j.junit]
    reads = {
        j.id: guard.run(j.name, lambda j=j: read_job(j, files), JobReading) for j in [*bad, *tested]
    }  # type: ignore[misc]
    jobs = [_explain(run, j, reads[j.id], linker, told, guard) for j in bad]
    order = {Requirement.REQUIRED: 0, Requirement.UNKNOWN: 1, Requirement.OPTIONAL: 2}
    return CIReport(
        run=run,
        totals=progress.totals(run),
        failed=tuple(sorted(jobs, key=lambda f: order[f.job.requirement])),
        missing=progress.missing(run),
        running=progress.running(run),
        predictions=_outcomes(told.failures, reads),
        coverage=_coverage(run, files, linker, guard),
        notes=(*_notes(run, linker), *guard.notes),
    )


def signatures(log: BinaryIO) -> tuple[str, ...]:
    """The signatures of the failures that a raw log shows, sorted; for `Past.signature` and `Attempt.signatures`."""
    found, _ = failures_in_log(log)
    return tuple(sorted({s.signature for s in found} - {""}))


def _explain(
    run: CIRun,
    job: Job,
    read: JobReading,
    linker: ChangeLinker | None,
    told: Predictions,
    guard: CrashGuard,
) -> FailedJob:
    return guard.run(
        job.name,
        lambda: failed_job(run, job, read, linker, told),
        lambda: guard.run(
            job.name,
            lambda: failed_job(run, job, read, None, Predictions()),
            lambda: not_analysed(job),
        ),
    )


def _skipped_by_need(run: CIRun, job: Job) -> bool:
    if job.conclusion is not Conclusion.SKIPPED:
        return False
    needed = (run.job(id) for id in job.needs)
    return any(n is not None and n.failed for n in needed)


def _outcomes(
    known: tuple[PredictedTest, ...], reads: dict[str, JobReading]
) -> tuple[Prediction, ...]:
    failed = {id: tuple(s for s in read.seen if s.test) for id, read in reads.items()}
    passed = frozenset(test for read in reads.values() for test in read.passed)
    return tuple(outcomes(known, failed, passed))


def _coverage(
    run: CIRun, files: Files, linker: ChangeLinker | None, guard: CrashGuard
) -> PatchCoverage | None:
    if linker is None or not run.coverage:
        return None
    change, config = linker.change, linker.config
    return guard.run(
        "coverage", lambda: coverage.of_patch(run, files, change, config), lambda: None
    )


def _notes(run: CIRun, linker: ChangeLinker | None) -> tuple[Message, ...]:
    notes = [] if run.required_known else [Message(Note.REQUIRED_UNKNOWN)]
    if linker is None:
        notes.append(Message(Note.NO_CHANGE))
    return (*notes, *(Message(problem) for problem in run.problems))
