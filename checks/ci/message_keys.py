"""Every key of a sentence that the analysis can ask for, with the names of its arguments.

The sentences stand in `templates/`, in both languages; a `Location`, `LogLine` or `Past` of the
evidence is shown by the renderer and is no argument. Argument values are text or whole numbers,
taken from logs where they are: a renderer must escape them.
"""

from __future__ import annotations

from enum import StrEnum


class Root(StrEnum):
    """`Failure.root`: one sentence of what happened."""

    # test, expression, value, exception (as seen), path, line: as the review predicted
    PREDICTED = "root-predicted"
    # error, function, path, line: raised in a function that this change altered
    IN_CHANGED = "root-in-changed"
    IN_CHANGED_FILE = "root-in-changed-file"  # error, path, line
    # error, path, line: the failing test is itself part of the change
    TEST_CHANGED = "root-test-changed"
    # error, what, path, line: the change alters what the test's stored baseline holds
    BASELINE = "root-baseline"
    # as BASELINE, and verdict: records say that it may be recorded anew
    BASELINE_SAFE = "root-baseline-safe"
    BASELINE_COMPARED = "root-baseline-compared"  # as BASELINE, and verdict: what records say
    OP = "root-op"  # error, op, path, function: the failing op's device function was changed
    LINKED = "root-linked"  # error, path: weaker links, listed in the evidence
    BASE = "root-base"  # error, commit
    FLAKY_RERUN = "root-flaky-rerun"  # error, attempts
    FLAKY_OTHERS = "root-flaky-others"  # error, count
    INFRASTRUCTURE = "root-infrastructure"  # error, category
    NEVER_STARTED = "root-never-started"  # step
    APPROVAL = "root-approval"  # name, said: what the log says of who must, or empty
    PERSON = "root-person"  # error
    # error, first: of the failure `first`; likely: nothing but their order says so
    CONSEQUENCE = "root-consequence"
    NEED = "root-need"  # needs: names of the failed jobs it waits for
    CANCELLED = "root-cancelled"  # -
    # error: a number differs from its baseline, and the cause is not known
    NUMERICAL = "root-numerical"
    UNKNOWN = "root-unknown"  # error
    NO_LOG = "root-no-log"  # state: a value of `LogState`
    NOT_ANALYSED = "root-not-analysed"  # what: name of the crashed part


class Reason(StrEnum):
    """`Evidence.message`."""

    RULE = "reason-rule"  # rule, category; with a line
    JUNIT = "reason-junit"  # test; the structured result says so
    NAMED = "reason-named"  # -; with the line in which the log names the failure itself
    RUNNING = "reason-running"  # -; with the line that shows that the test was running
    # finding, expression, value, exception; with the fixture's location
    PREDICTED = "reason-predicted"
    # finding, what; the review showed that the change reaches this test's baseline
    BASELINE = "reason-baseline"
    RECORDS = "reason-records"  # verdict; of the comparison of logprob records, before and after
    FRAME_FUNCTION = "reason-frame-function"  # function; a stack frame stands in a changed function
    FRAME_LINE = "reason-frame-line"  # function; on a line that this change added
    FRAME_FILE = "reason-frame-file"  # -; in a changed file
    COMPILER = "reason-compiler"  # -; the compiler or linter points at a changed file
    TEST_CHANGED = "reason-test-changed"  # test
    IMPORTS = "reason-imports"  # distance, chain; modules from the test to the changed file
    OP = "reason-op"  # op, function; the op's device code was changed
    TOKENS = "reason-tokens"  # tokens; rare words that the failure and the changed lines share
    NO_PATH = "reason-no-path"  # -; nothing that the test imports was changed (negative)
    ON_BASE = "reason-on-base"  # signature; with a past result
    ON_OTHERS = "reason-on-others"  # count; with a past result
    PASSED_ELSEWHERE = "reason-passed-elsewhere"  # attempt; passed and failed on this commit
    NO_STEP_RAN = "reason-no-step-ran"  # step; the timeline: no step of the job's own had begun
    NO_RUNNER = "reason-no-runner"  # -; no GPU runner ever took the job
    NEED_FAILED = "reason-need-failed"  # name
    FIRST = "reason-first"  # test or line that failed before
    # path; the change alters what such a failure may come from
    TOUCHES_CAUSE = "reason-touches-cause"
    REPEATED = "reason-repeated"  # count; attempts on this commit failed the same way


class Advice(StrEnum):
    """`Suggestion.message`."""

    # expression, written: what to write, or empty; the place still writes the old form
    UPDATE_FIXTURE = "advice-update-fixture"
    LOOK_AT = "advice-look-at"  # function; the changed code that raised
    LOOK_AT_FILE = "advice-look-at-file"  # -
    # -; is the new number meant? Then make a new baseline, else mend
    CHECK_BASELINE = "advice-check-baseline"
    RECORD_ANEW = "advice-record-anew"  # -; the place compares with it
    FIX_BUILD = "advice-fix-build"  # error
    RUN_LINTER = "advice-run-linter"  # command, error; the command that mends or shows it
    FIX_FIRST = "advice-fix-first"  # first; then this goes away
    RERUN_ONCE = "advice-rerun-once"  # url: where to run it again, or empty
    NEVER_RERUN = "advice-never-rerun"  # -; a number is not rerun away
    WAIT_FOR_BASE = "advice-wait-for-base"  # commit
    APPROVE = "advice-approve"  # name
    CHECK_RUNNER = "advice-check-runner"  # runner
    READ_LOG = "advice-read-log"  # -
    READ_PAGE = "advice-read-page"  # -; there is no log
    # lines: the most unusual lines of the log, as a guess; compared: with a log that passed; logs:
    # how many earlier logs there were; seen: how many of these had one of the lines, at most
    UNUSUAL = "advice-unusual"
    ADD_TESTS = "advice-add-tests"  # numbers: the percentages that the gate names, or empty
    FILL_TEMPLATE = "advice-fill-template"  # said: what the check wants
    FIX_DEPENDENCY = "advice-fix-dependency"  # error
    PACKAGE = "advice-package"  # package, pinned: who asks for it, or empty
    APPROVE_BY = "advice-approve-by"  # people, what (or empty), files, more
    RUN_TEST = "advice-run-test"  # command: runs this test alone
    MISSING_MODULE = "advice-missing-module"  # module
    LOOK_AT_ERROR = "advice-look-at-error"  # error
    NETWORK = "advice-network"  # url, host; each may be empty
    ADDRESS = "advice-address"  # url, or empty; the host answered that nothing is there
    CERTIFICATE = "advice-certificate"  # host, or empty
    CHECKSUM = "advice-checksum"  # url, or empty; what came is not what was expected
    RATE_LIMIT = "advice-rate-limit"  # url, host
    IMAGE = "advice-image"  # image, or empty
    NO_RIGHT = "advice-no-right"  # error; a credential is missing or refused
    ARTIFACT = "advice-artifact"  # artifact, or empty
    ARTIFACT_TWICE = "advice-artifact-twice"  # -; two tasks upload one name
    DISK = "advice-disk"  # path, runner; each may be empty
    HOST_MEMORY = "advice-host-memory"  # error
    DEVICE_MEMORY = "advice-device-memory"  # size: what was asked for, or empty
    TIMEOUT = "advice-timeout"  # limit, command; each may be empty
    HANG = "advice-hang"  # limit, or empty
    SIGNAL = "advice-signal"  # signal, command; each may be empty
    KILLED = "advice-killed"  # signal, command: as SIGNAL, sent from outside
    # code, command, setting: what makes every launch of a kernel wait; each may be empty
    DEVICE = "advice-device"
    DRIVER = "advice-driver"  # error; card, driver and build do not fit together
    KERNEL_RESOURCES = "advice-kernel-resources"  # asked, has; each may be empty
    # code, or empty; library: "gloo", "hccl", "mpi", or "nccl" and what is like it
    COMMUNICATION = "advice-communication"
    NO_DEVICE = "advice-no-device"  # error, runner, or empty
    HELD = "advice-held"  # error, runner, or empty; another process has the card or the port
    LEFT_FILES = "advice-left-files"  # error, runner, or empty; of an earlier task
    SCHEDULER = "advice-scheduler"  # error; a cluster's scheduler refused the job
    RUNNER = "advice-runner"  # error
    CANCELLED = "advice-cancelled"  # -
    GIT = "advice-git"  # error; the two sides do not merge
    GIT_REFERENCE = "advice-git-reference"  # error; it does not exist
    OTHER_PROCESS = "advice-other-process"  # error; it only says that another process failed
    MISSING_FILE = "advice-missing-file"  # file: a header or a library
    SIGN_OFF = "advice-sign-off"  # said
    SCRIPT = "advice-script"  # error; of a shell


class Note(StrEnum):
    """Notes of a report, a failed job or coverage: what was not looked at, and why."""

    JUNIT_BROKEN = "note-junit-broken"  # path, why (a `JUnitProblem`)
    LOG_EMPTY = "note-log-empty"  # -
    CRASHED = "note-crashed"  # what, error; a part of the analysis failed on this input
    REQUIRED_UNKNOWN = "note-required-unknown"  # -
    NO_CHANGE = "note-no-change"  # -; without the repository nothing can be linked to the change
    COVERAGE_BROKEN = "note-coverage-broken"  # path
    COVERAGE_OTHER_COMMIT = "note-coverage-other-commit"  # path, commit
    MANY_FAILURES = "note-many-failures"  # count


class JUnitProblem(StrEnum):
    TRUNCATED = "truncated"
    INVALID = "invalid"
    ENTITIES = "entities"
    EMPTY = "empty"
    ABSENT = "absent"


class CoverageReason(StrEnum):
    """Why a file's coverage is unknown, or has nothing to measure (`NO_CODE`)."""

    DEVICE = "device-code"
    NO_REPORT = "no-report"
    NOT_IN_REPORT = "not-in-report"
    CARRIED = "carried-forward"
    JOB_DIED = "job-died"
    NO_CODE = "no-code"


class Problem(StrEnum):
    """`CIRun.problems`: what the collector could not read."""

    REQUIRED = "problem-required"
    HISTORY = "problem-history"
    LOGS = "problem-logs"
    ARTIFACTS = "problem-artifacts"
    CHANGE = "problem-change"
    JOBS = "problem-jobs"
    CHECKS = "problem-checks"


class FolderProblem(StrEnum):
    """`FolderError.problem`."""

    NOT_JSON = "not-json"
    WRONG_TYPE = "wrong-type"
    WRONG_VALUE = "wrong-value"
    WRONG_TIME = "wrong-time"
    UNKNOWN_KEY = "unknown-key"
    MISSING_KEY = "missing-key"
    VERSION = "version"
    PATH = "path"
    TWICE = "twice"


KEYS: tuple[str, ...] = tuple(str(k) for kind in (Root, Reason, Advice, Note) for k in kind)
