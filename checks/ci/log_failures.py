"""What a job's log shows to have failed: its tests, in all their sessions, and what the log rules
saw.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import BinaryIO

from checks.ci.classify import Match, Origin, Scan, scan
from checks.ci.crashed_files import FailedFile, failed_files
from checks.ci.explaining_lines import naming_line, own_word
from checks.ci.frames import frames
from checks.ci.framework_failures import framework_failures
from checks.ci.log_ranges import lines_between, read_ranges
from checks.ci.observed_failures import MOST_LINES, ObservedFailure, observe_failed_test
from checks.ci.pytest_sessions import SessionFailure, is_same_file, session_failures
from checks.ci.report import Category, LogLine
from checks.ci.running_tests import running_test, wanted_lines

# Lines around the key line that are kept.
BEFORE, AFTER = 40, 12
# Key lines of the whole job: two fewer than may be shown, so that failed tests get theirs.
_MOST_KEY_LINES = MOST_LINES - 2
_OF_A_DEVICE = frozenset({Category.DEVICE_ERROR, Category.DEVICE_OOM})
# Errors of a test that tell nothing: the process that failed spoke before.
_BARE = frozenset({"", "AssertionError"})
# What a list of failed tests says as well.
_TOLD_BY_LISTS = frozenset({Category.TEST_FAILURE, Category.UNKNOWN})
# What one test may die of while the job's script goes on with the next.
_OF_ONE_TEST = frozenset({Category.SIGNAL, Category.TIMEOUT, Category.HANG, Category.UNKNOWN})
# What ends the process in which tests run, or their time.
_DEATHS = frozenset(
    {
        Category.SIGNAL,
        Category.HOST_OOM,
        Category.TIMEOUT,
        Category.HANG,
        Category.DEVICE_ERROR,
        Category.DEVICE_OOM,
    }
)
# What ends the test in whose thread it is.
_ENDS_A_TEST = frozenset({"rust-panic", "panic"})


def failures_in_log(
    stream: BinaryIO, within: tuple[datetime, datetime] | None = None
) -> tuple[tuple[ObservedFailure, ...], Scan]:
    """What failed by the log alone, and what the rules saw.

    `within`: only lines of these times, the failed step's.
    """
    scanned = scan(stream, within)
    tests = _failed_tests(stream, scanned)
    top = scanned.top
    if top is None:
        return tests, scanned
    if tests and not _killed_job(top, tests, scanned) and not _explains_all(top, tests):
        return tests, scanned
    failed_job = _failed_job(stream, scanned, top)
    if not tests or top.rule.job:
        failed_job = _with_running_test(stream, failed_job, top)
    return (failed_job, *tests), scanned


def _explains_all(top: Match, tests: tuple[ObservedFailure, ...]) -> bool:
    """Whether a device failed and none of the tests says more than that something was not true, or
    anything is known and the tests are but named in a list.
    """
    if all(_is_only_named(test) for test in tests):
        return top.rule.category not in _TOLD_BY_LISTS
    says_nothing = all(test.error in _BARE for test in tests)
    return says_nothing and top.rule.category in _OF_A_DEVICE


def _is_only_named(test: ObservedFailure) -> bool:
    """Whether nothing is known of the test but the line that names it."""
    return test.named is not None and test.text.strip() == test.named.text.strip()


def _killed_job(top: Match, tests: tuple[ObservedFailure, ...], scanned: Scan) -> bool:
    """Whether the job died of it, and not only one of its test files."""
    if not top.rule.job:
        return False
    if top.rule.category not in _OF_ONE_TEST or top.rule.origin is Origin.INFRASTRUCTURE:
        return True
    # A session that began later shows that the job outlived it.
    starts = scanned.sightings.get("session-start", ())
    if any(start.number > top.line.number for start in starts):
        return False
    return not any(test.error == _error(top) for test in tests)


def _failed_job(stream: BinaryIO, scanned: Scan, top: Match) -> ObservedFailure:
    stream.seek(0)
    key = own_word(top, scanned)
    number = key.number
    around = tuple(lines_between(stream, max(1, number - BEFORE), number + AFTER))
    return ObservedFailure(
        category=_category(top, scanned),
        error=_text(key),
        rule=top.rule.name,
        origin=top.rule.origin,
        whole_job=top.rule.job,
        frames=frames(line.text for line in around if line.number <= number + 2),
        lines=_key_lines(around, scanned, key),
        text="\n".join(line.text for line in around),
        same_rule=tuple(line.text for line in scanned.sightings.get(top.rule.name, ())),
        named=naming_line(scanned, around),
    )


def _with_running_test(
    stream: BinaryIO, failed_job: ObservedFailure, top: Match
) -> ObservedFailure:
    """The death of a process with the test that was running in it, where one was."""
    is_silent = top.rule.category is Category.UNKNOWN and top.rule.job
    ends_test = failed_job.category in _DEATHS or top.rule.name in _ENDS_A_TEST
    if not ends_test and not is_silent:
        return failed_job
    (lines,) = read_ranges(stream, [wanted_lines(top.line)])
    running = running_test(lines, top.line)
    if running is None:
        return failed_job
    category = failed_job.category
    if category is Category.UNKNOWN and top.rule.name in _ENDS_A_TEST:
        category = Category.TEST_FAILURE
    return replace(failed_job, category=category, test=running.name, began=running.line)


def _category(top: Match, scanned: Scan) -> Category:
    """The rule's; what is of no known kind is a test's where the job says that its file failed."""
    is_unknown = top.rule.category is Category.UNKNOWN
    if is_unknown and any(match.rule.name == "test-file-failed" for match in scanned.matches):
        return Category.TEST_FAILURE
    return top.rule.category


def _error(match: Match) -> str:
    return _text(match.line)


def _text(line: LogLine) -> str:
    return line.text.removeprefix("E  ").strip()


def _key_lines(around: tuple[LogLine, ...], scanned: Scan, key: LogLine) -> tuple[LogLine, ...]:
    """The key line, the best lines of other rules near it, and the lines just before it."""
    nearby = {line.number for line in around}
    matched = [match.line for match in scanned.matches if match.line.number in nearby]
    before = [line for line in around if line.number < key.number and line.text.strip()]
    picked = {key.number: key}
    for line in [*matched, *reversed(before)]:
        if len(picked) >= _MOST_KEY_LINES:
            break
        picked.setdefault(line.number, line)
    return tuple(picked[number] for number in sorted(picked))


def _failed_tests(stream: BinaryIO, scanned: Scan) -> tuple[ObservedFailure, ...]:
    """What failed in every session of the log, each test once."""
    tests: dict[str, ObservedFailure] = {}
    files = list(failed_files(stream, scanned.sightings))
    for failure in session_failures(stream, scanned.sightings):
        tests.setdefault(failure.node, _observe(failure, _printed_for(failure.node, files)))
    for failure in framework_failures(stream, scanned.sightings):
        tests.setdefault(failure.node, _observe(failure, ()))
    for file in files:
        if not any(is_in_file(test, file.path) for test in tests):
            tests[file.running or file.path] = _observe_crash(file)
    return tuple(tests.values())


def _observe(failure: SessionFailure, printed: tuple[str, ...]) -> ObservedFailure:
    lines = failure.lines
    if failure.at not in lines:
        lines = (failure.at, *lines)
    text = "\n".join(line.text for line in lines)
    observed = observe_failed_test(failure.node, failure.message, text, lines, structured=False)
    observed = replace(observed, named=failure.at)
    if not observed.error:
        observed = replace(observed, error=failure.at.text.strip())
    if printed:
        observed = replace(observed, captured=(*observed.captured, *printed))
    # Where its own text tells more, such as that a host did not answer, that stays.
    if failure.collected or observed.category is not Category.TEST_FAILURE:
        return observed
    return replace(observed, category=Category.COLLECTION_ERROR)


def _printed_for(node: str, files: list[FailedFile]) -> tuple[str, ...]:
    """What the job's script printed for the test's file, such as the log of its server."""
    for file in files:
        if is_in_file(node, file.path):
            return tuple(line.text for line in file.after)
    return ()


def _observe_crash(file: FailedFile) -> ObservedFailure:
    """A file whose session ended without a result: what stands last in it tells why."""
    name = file.running or file.path
    observed = observe_failed_test(
        name, "", file.text, file.before or (file.banner,), structured=False
    )
    printed = tuple(line.text for line in file.after)
    if not observed.rule:
        observed = replace(observed, error=file.banner.text.strip("= "), lines=(file.banner,))
    return replace(observed, captured=(*observed.captured, *printed))


def is_in_file(test: str, path: str) -> bool:
    """Whether a test stands in the file, whose path may have more or fewer leading folders."""
    return is_same_file(test.split("::")[0], path)
