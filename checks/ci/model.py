"""One CI run of a pull request, as collected from GitHub or read from a folder.

Times are UTC with whole seconds. Logs, JUnit and coverage files are named by their path in the
run's folder and read through `Files`, so that nothing here holds their contents.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import BinaryIO, Protocol


class Files(Protocol):
    """The documents of a run by their path in its folder (`logs/1.log`)."""

    def open(self, name: str) -> BinaryIO | None:
        """The file from its first byte, seekable, or None where the folder does not have it.

        The caller closes it.
        """


class Kind(StrEnum):
    WORKFLOW_JOB = "workflow-job"
    CHECK_RUN = "check-run"
    STATUS = "status"


class Requirement(StrEnum):
    """Whether a merge waits for the job.

    `UNKNOWN` where branch protection could not be read: never "optional".
    """

    REQUIRED = "required"
    OPTIONAL = "optional"
    UNKNOWN = "unknown"


class Status(StrEnum):
    """`EXPECTED`: a required check that has not reported at all."""

    EXPECTED = "expected"
    QUEUED = "queued"
    WAITING = "waiting"
    IN_PROGRESS = "in-progress"
    COMPLETED = "completed"


class Conclusion(StrEnum):
    """GitHub's conclusions; `NONE` until the job is completed.

    A status of `error` or `failure` is `FAILURE`.
    """

    NONE = "none"
    SUCCESS = "success"
    FAILURE = "failure"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"
    TIMED_OUT = "timed-out"
    ACTION_REQUIRED = "action-required"
    NEUTRAL = "neutral"
    STALE = "stale"
    STARTUP_FAILURE = "startup-failure"

    @property
    def failed(self) -> bool:
        return self in _FAILED


_FAILED = frozenset(
    {
        Conclusion.FAILURE,
        Conclusion.CANCELLED,
        Conclusion.TIMED_OUT,
        Conclusion.ACTION_REQUIRED,
        Conclusion.STARTUP_FAILURE,
    }
)
_FINE = (Conclusion.SUCCESS, Conclusion.NEUTRAL)


class LogState(StrEnum):
    """Why a job has a log or has none: `EXPIRED` is GitHub's 410, `DENIED` its 403, `FAILED` any
    other refusal, `ABSENT` a check or status that never has one, or a job that never reached a GPU
    runner.
    """

    PRESENT = "present"
    EXPIRED = "expired"
    DENIED = "denied"
    FAILED = "failed"
    ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class Pull:
    """The pull request.

    `repo` is `owner/name`; `approved` says that its reviews satisfy the branch's rule.
    """

    repo: str
    number: int
    title: str = ""
    author: str = ""
    base_branch: str = ""
    url: str = ""
    draft: bool = False
    approved: bool | None = None


@dataclass(frozen=True, slots=True)
class Revisions:
    """Commit ids.

    CI ran on `merge` (the head merged into the base branch) where it is known, else on `head`.
    """

    head: str
    base: str = ""
    merge_base: str = ""
    merge: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    number: int
    name: str
    status: Status = Status.COMPLETED
    conclusion: Conclusion = Conclusion.NONE
    started: datetime | None = None
    completed: datetime | None = None


@dataclass(frozen=True, slots=True)
class Attempt:
    """An earlier attempt of the same job on the same commit (a rerun makes the next one).

    `signatures` are those of its failures (`checks.ci.analyse.signatures`), empty where its log was
    not read.
    """

    number: int
    conclusion: Conclusion
    started: datetime | None = None
    completed: datetime | None = None
    url: str = ""
    signatures: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Annotation:
    """What a check run says about a line, or about the whole (`path` empty).

    `level`: notice, warning, failure.
    """

    level: str
    message: str
    path: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class Job:
    """A workflow job, check run or commit status.

    `id` is unique in the run and stable between reports; `name` is what branch protection knows it
    by, and `needs` are ids of jobs that must pass first. `passed_log` is the log of the same job's
    last run that passed, where one is at hand; `earlier_logs` is a file of
    `checks.ci.earlier_logs` about its logs on other pull requests.

    `event` is what started its workflow (`push`, `merge_group`), where that tells it from another
    job of this name, or where it is the merge queue's; else it is empty.

    `runner` is the machine's name, empty where none ever took the job; `labels` is what it asked
    for. `summary` is a check run's own output or a status' description.
    """

    id: str
    name: str
    kind: Kind = Kind.WORKFLOW_JOB
    workflow: str = ""
    event: str = ""
    requirement: Requirement = Requirement.UNKNOWN
    status: Status = Status.COMPLETED
    conclusion: Conclusion = Conclusion.NONE
    queued: datetime | None = None
    started: datetime | None = None
    completed: datetime | None = None
    steps: tuple[Step, ...] = ()
    runner: str = ""
    labels: tuple[str, ...] = ()
    attempt: int = 1
    attempts: tuple[Attempt, ...] = ()
    needs: tuple[str, ...] = ()
    annotations: tuple[Annotation, ...] = ()
    app: str = ""
    summary: str = ""
    url: str = ""
    rerun_url: str = ""
    log: str = ""
    passed_log: str = ""
    earlier_logs: str = ""
    log_state: LogState = LogState.ABSENT
    log_url: str = ""
    junit: tuple[str, ...] = ()

    @property
    def failed(self) -> bool:
        return self.status is Status.COMPLETED and self.conclusion.failed

    @property
    def passed(self) -> bool:
        """A success, or neutral."""
        return self.status is Status.COMPLETED and self.conclusion in _FINE

    @property
    def lets_merge(self) -> bool:
        """What GitHub takes for passed where the job is required: also one that was skipped."""
        return self.passed or (
            self.status is Status.COMPLETED and self.conclusion is Conclusion.SKIPPED
        )

    @property
    def seconds(self) -> int | None:
        """How long it ran; None where it has not ended or never began."""
        if self.started is None or self.completed is None:
            return None
        return max(0, int((self.completed - self.started).total_seconds()))

    @property
    def reruns(self) -> int:
        return self.attempt - 1


@dataclass(frozen=True, slots=True)
class CoverageFile:
    """A coverage report (Cobertura XML or lcov, told from its content) of `commit`.

    `carried_forward`: uploaded for an earlier commit and shown again. A flag that this run should
    have sent and did not has an empty `path`.
    """

    path: str
    commit: str
    flag: str = ""
    job: str = ""
    carried_forward: bool = False


class Where(StrEnum):
    """Where a past result comes from: the base branch, the merge base itself, or another pull
    request.
    """

    BASE = "base"
    MERGE_BASE = "merge-base"
    PULL = "pull"


@dataclass(frozen=True, slots=True)
class Past:
    """A result of the same job (and test, where named) elsewhere.

    `signature` is that of its failure, empty where it passed. `seconds` is its duration; `author`
    that of the pull request.
    """

    where: Where
    job: str
    commit: str
    date: datetime
    conclusion: Conclusion
    workflow: str = ""
    test: str = ""
    signature: str = ""
    pull: int = 0
    author: str = ""
    seconds: int | None = None
    url: str = ""


@dataclass(frozen=True, slots=True)
class Artifact:
    """An uploaded artifact; `path` is where its archive lies in the folder, empty where it was not
    fetched.
    """

    name: str
    size: int = 0
    path: str = ""
    url: str = ""
    expired: bool = False


@dataclass(frozen=True, slots=True)
class CIRun:
    """Everything that was collected about one head commit, at `collected`.

    `required_known` is False where the required checks could not be read in full. `problems` are
    keys of what else could not be collected (`checks.ci.message_keys.Problem`).
    """

    pull: Pull
    revisions: Revisions
    collected: datetime
    jobs: tuple[Job, ...] = ()
    history: tuple[Past, ...] = ()
    coverage: tuple[CoverageFile, ...] = ()
    artifacts: tuple[Artifact, ...] = ()
    required_known: bool = True
    problems: tuple[str, ...] = ()

    def job(self, id: str) -> Job | None:
        return next((j for j in self.jobs if j.id == id), None)
