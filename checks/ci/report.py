"""What a CI report says: every failure with its category, its cause and the evidence for both.

No sentence stands here: a `Message` is a key with arguments, and `checks.ci.message_keys` lists
them all.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from checks.ci.model import CIRun, Job, Past
from checks.core.finding import Confidence, Location, Message


class Category(StrEnum):
    """What went wrong, as seen."""

    TEST_FAILURE = "test-failure"
    COLLECTION_ERROR = "collection-error"
    BUILD_ERROR = "build-error"
    DEVICE_ERROR = "device-error"
    HOST_OOM = "host-oom"
    DEVICE_OOM = "device-oom"
    NUMERICAL = "numerical-mismatch"
    TIMEOUT = "timeout"
    HANG = "hang"
    SIGNAL = "signal"
    NETWORK = "network"
    DISK = "disk"
    RUNNER_LOST = "runner-lost"
    RUNNER_UNHEALTHY = "runner-unhealthy"
    DEPENDENCY = "dependency-install"
    LINT = "lint"
    COVERAGE_GATE = "coverage-gate"
    APPROVAL = "approval-needed"
    PR_TEMPLATE = "pr-template"
    CANCELLED = "cancelled"
    SKIPPED_NEED = "skipped-by-failed-need"
    UNKNOWN = "unknown"


class Cause(StrEnum):
    """Whose it is.

    `FLAKY` only with evidence; `UNKNOWN` where the evidence is not enough, never by default
    another.
    """

    THIS_PR = "this-pr"
    BASE = "base-branch"
    FLAKY = "flaky"
    INFRASTRUCTURE = "infrastructure"
    PERSON = "needs-a-person"
    CONSEQUENCE = "consequence"
    UNKNOWN = "unknown"


class Rerun(StrEnum):
    """`ONCE`: infrastructure, not rerun before.

    `SAMPLES`: a number was off; run it again to add samples to one pooled test, never to replace
    the red one. `AFTER_FIX`: this change, or the base branch, must be mended first. `WITH_CAUSE`:
    rerun together with the failure it follows from. `ASK`: a person decides. `NO`: nothing to
    rerun.
    """

    ONCE = "once"
    SAMPLES = "samples"
    AFTER_FIX = "after-fix"
    WITH_CAUSE = "with-cause"
    ASK = "ask"
    NO = "no"


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line of a job's log, cleaned; `number` counts from 1 in the raw log, 0 for a line of a
    JUnit file.
    """

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """One reason.

    `message` says it; the other fields are what a reader can check, where they apply.

    `weight` is its part in the link to the change (negative speaks against); 0 for evidence of
    something else.
    """

    message: Message
    location: Location | None = None
    line: LogLine | None = None
    past: Past | None = None
    weight: int = 0


@dataclass(frozen=True, slots=True)
class Frame:
    """A stack frame or a compiler's place.

    `path` is the repository's path where it is known there, else as printed.
    """

    path: str
    line: int
    function: str = ""
    known: bool = False


@dataclass(frozen=True, slots=True)
class Suggestion:
    """What to do, at a place of the head tree where there is one."""

    message: Message
    location: Location | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """One thing that failed in a job: a test, or the job itself (`test` empty).

    `error` is the tool's own sentence (`IndexError: list index out of range`), `rule` the log rule
    that saw it. `signature` is the same for the same failure on other commits. `root` is the
    root-cause sentence.
    """

    category: Category
    cause: Cause
    confidence: Confidence
    root: Message
    test: str = ""
    error: str = ""
    rule: str = ""
    signature: str = ""
    frames: tuple[Frame, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    lines: tuple[LogLine, ...] = ()
    suggestions: tuple[Suggestion, ...] = ()
    related: tuple[Location, ...] = ()
    rerun: Rerun = Rerun.ASK


@dataclass(frozen=True, slots=True)
class FailedJob:
    """A failed job: `main` decides what the overview says, `failures` has all of them, `main` among
    them.

    `lines` are the key log lines, ten at most. `left_out` counts failures beyond those that are
    listed.
    """

    job: Job
    main: Failure
    failures: tuple[Failure, ...]
    lines: tuple[LogLine, ...] = ()
    left_out: int = 0
    notes: tuple[Message, ...] = ()


class Outcome(StrEnum):
    """Of a predicted failure: seen, not seen although the test ran, or the test did not run."""

    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    NOT_RUN = "not-run"


@dataclass(frozen=True, slots=True)
class Prediction:
    """A predicted failure (`finding`: the fingerprint), and what the run said about it."""

    finding: str
    test: str
    exception: str
    outcome: Outcome
    job: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class Missing:
    """A required check that has not reported; `waited` seconds since the run's first job began,
    None if none did.
    """

    job: Job
    waited: int | None


@dataclass(frozen=True, slots=True)
class Running:
    """A job that has not ended: seconds so far, and seconds still to go by the median of `runs`
    past ones.
    """

    job: Job
    elapsed: int | None
    remaining: int | None
    runs: int


@dataclass(frozen=True, slots=True)
class Totals:
    """Jobs by outcome; `reruns` counts attempts beyond the first.

    `required_*` are None where they are not known.
    """

    jobs: int
    passed: int
    failed: int
    running: int
    waiting: int
    skipped: int
    reruns: int
    required: int | None
    required_passed: int | None


class CoverageState(StrEnum):
    """`UNKNOWN`: no tool saw the code, or no report of this commit came."""

    MEASURED = "measured"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class FileCoverage:
    """The added lines of one file.

    `executable` counts those that the reports know, of which `covered` ran in full, `missing` did
    not run, and `partial` branch and did not go every way. `branches` counts the lines that branch,
    as Codecov does. `reason` is a message key where the file's state is unknown
    (`checks.ci.message_keys.CoverageReason`).
    """

    path: str
    state: CoverageState
    added: int
    executable: int = 0
    covered: int = 0
    missing: tuple[int, ...] = ()
    reason: str = ""
    partial: tuple[int, ...] = ()
    branches: int = 0

    @property
    def percent(self) -> float | None:
        return _percent(self.covered, self.executable)


@dataclass(frozen=True, slots=True)
class FlagCoverage:
    """One flag's lines over the whole project, and the added ones among them.

    `base` is the flag's percentage on the base, None where that is not known. `missing`: expected
    from this run and not uploaded.
    """

    flag: str
    lines: int
    covered: int
    carried_forward: bool = False
    missing: bool = False
    patch_lines: int = 0
    patch_covered: int = 0
    base: float | None = None

    @property
    def percent(self) -> float | None:
        return _percent(self.covered, self.lines)

    @property
    def patch_percent(self) -> float | None:
        return _percent(self.patch_covered, self.patch_lines)


@dataclass(frozen=True, slots=True)
class CoverageTotals:
    """The lines of all files of the reports: `hits`, `misses` and `partials` add up to `lines`.

    `branches` counts the lines that branch.
    """

    files: int
    lines: int
    branches: int
    hits: int
    misses: int
    partials: int

    @property
    def percent(self) -> float | None:
        return _percent(self.hits, self.lines)


@dataclass(frozen=True, slots=True)
class PatchCoverage:
    """Coverage of the change.

    `percent` is of the executable added lines in measured files, None where there is none;
    `complete` is False where any file is unknown. `project` and `base_project` are percentages of
    `totals` and `base_totals`, None if not known.
    """

    files: tuple[FileCoverage, ...]
    flags: tuple[FlagCoverage, ...] = ()
    project: float | None = None
    base_project: float | None = None
    notes: tuple[Message, ...] = ()
    totals: CoverageTotals | None = None
    base_totals: CoverageTotals | None = None

    @property
    def executable(self) -> int:
        return sum(f.executable for f in self.files)

    @property
    def covered(self) -> int:
        return sum(f.covered for f in self.files)

    @property
    def percent(self) -> float | None:
        return _percent(self.covered, self.executable)

    @property
    def complete(self) -> bool:
        return all(f.state is CoverageState.MEASURED for f in self.files)


def _percent(part: int, whole: int) -> float | None:
    """None of nothing."""
    return 100 * part / whole if whole else None


@dataclass(frozen=True, slots=True)
class CIReport:
    """The whole report: failed jobs with required ones first, what is missing, what is running, and
    the rest.
    """

    run: CIRun
    totals: Totals
    failed: tuple[FailedJob, ...] = ()
    missing: tuple[Missing, ...] = ()
    running: tuple[Running, ...] = ()
    predictions: tuple[Prediction, ...] = ()
    coverage: PatchCoverage | None = None
    notes: tuple[Message, ...] = ()
