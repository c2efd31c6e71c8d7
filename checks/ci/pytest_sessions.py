"""All pytest sessions of a log: what failed in each, with its traceback.

A job may run pytest once for every file, or several at a time, whose lines then mix. So no session
is taken for a closed piece of the log: tests are known by their node ids wherever these stand, and
a traceback belongs to the test of that name whose summary comes next.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from checks.ci.log_ranges import LineRange, read_ranges
from checks.ci.report import LogLine

Sightings = Mapping[str, Sequence[LogLine]]

# Tests, and lines of one traceback, that are read.
_MOST_TRACEBACKS = 400
_LONGEST_TRACEBACK = 3_000
_HEADING = re.compile(
    r"^\s{0,6}_{3,300} (?:(?P<phase>ERROR at (?:setup|teardown) of|ERROR collecting) )?"
    r"(?P<name>\S.{0,300}?) _{3,300}$"
)
# What pytest, and its plugin before, says of a part of a test: its message and its parameters stand
# before the word or after it.
_SUBTEST = (
    r"(?:\[.{0,200}\] )?(?:\(.{0,200}\) )?SUBFAIL(?:ED)?(?:\[.{0,200}?\])?(?: ?\(.{0,200}?\))?"
)
_RESULT = re.compile(
    rf"^(?:\[\s{{0,3}}\d{{1,3}}%\] )?(?:FAILED(?: CONSISTENTLY:)?|ERROR|{_SUBTEST})\s{{1,4}}"
    r"(?:\[[\d.]{1,12}s\] )?(?P<node>\S{1,400}?::.{1,300}?)(?: - (?P<message>.{0,1500}))?$"
)
_PROGRESS = re.compile(r"^(?P<node>\S{1,400}?\.py::\S{1,400})")
_NOT_COLLECTED = re.compile(r"^ERROR (?P<path>\S{1,300}\.py)(?: - (?P<message>.{0,1500}))?$")
_TEST_FILE = re.compile(r"^(?:E\s{1,40})?(?P<path>[\w./\\-]{1,300}\.py):\d{1,7}:")
# pytest-xdist heads the crash of a worker with the file alone.
_PART_OF_TEST = re.compile(r" (?:\[.{0,200}\]|\(.{0,200}\))$")
_CRASHED = re.compile(r"^worker '\w{1,20}' crashed while running '(?P<node>[^']{1,800})'$")
_INSTALLED = re.compile(r"(?:site|dist)-packages/")
_NEXT = re.compile(r"^(?:FAILED|ERROR|=|!|\d{1,7} (?:failed|passed))")
_LONGEST_MESSAGE = 12
_FAILED_SECTIONS = ("FAILURES", "ERRORS")


@dataclass(frozen=True, slots=True)
class SessionFailure:
    """A test that failed in a session: its node id, or the file where it could not be collected.

    `message` is the summary's; `lines` are the traceback's, empty where none was printed. `at` is
    the line by which it is known.
    """

    node: str
    message: str
    lines: tuple[LogLine, ...]
    at: LogLine
    collected: bool = True


@dataclass(frozen=True, slots=True)
class _Result:
    """A line that names a failed test, with the summary's message if it is the summary's."""

    node: str
    message: str
    line: LogLine

    @property
    def name(self) -> str:
        """As the heading of the traceback has it: `TestClass.test_name`."""
        return ".".join(self.node.split("::")[1:])


def session_failures(stream: BinaryIO, sightings: Sightings) -> Iterator[SessionFailure]:
    """What failed in all sessions, each test once, in the order of the log."""
    results = list(_results(sightings))
    headings = _headings(sightings)
    by_name = _by_name(results)
    results_of = [_result_of(heading, by_name) for heading in headings]
    ranges = _ranges(headings, results_of, sightings)
    given: set[str] = set()
    tracebacks = zip(headings, results_of, read_ranges(stream, ranges), strict=True)
    for heading, result, lines in tracebacks:
        failure = _from_traceback(heading, result, lines)
        if failure.node not in given:
            given.add(failure.node)
            yield failure
    others = _other_results(results, given)
    yield from _from_summary(stream, list(others.values()))
    given |= set(others)
    for line in sightings.get("file-not-collected", ()):
        match = _NOT_COLLECTED.match(line.text)
        if match is not None and match["path"] not in given:
            given.add(match["path"])
            yield SessionFailure(match["path"], match["message"] or "", (), line, collected=False)


def _other_results(results: list[_Result], given: Iterable[str]) -> dict[str, _Result]:
    """The results of tests that are not `given`, by node id.

    A script may name a test once more, by the path from its own folder. That is no other test where
    it says no more than the name.
    """
    others: dict[str, _Result] = {}
    paths_by_test: dict[str, set[str]] = {}
    for node in given:
        path, _, test = node.partition("::")
        paths_by_test.setdefault(test, set()).add(path)
    for result in _with_summary_first(results):
        path, _, test = result.node.partition("::")
        paths = paths_by_test.setdefault(test, set())
        is_named_again = not result.message and any(is_same_file(path, known) for known in paths)
        if path not in paths and not is_named_again:
            paths.add(path)
            others[result.node] = result
    return others


def is_same_file(path: str, other: str) -> bool:
    """Whether two paths are of one file, where one may have more leading folders."""
    return path == other or path.endswith(f"/{other}") or other.endswith(f"/{path}")


def _from_summary(stream: BinaryIO, results: list[_Result]) -> Iterator[SessionFailure]:
    """Tests without a traceback. A message of several lines goes on below the summary's line."""
    ranges = []
    for result in results:
        number = result.line.number
        ranges.append(LineRange(number, number + (_LONGEST_MESSAGE if result.message else 0)))
    for result, lines in zip(results, read_ranges(stream, ranges), strict=True):
        end = 1
        while end < len(lines) and not _NEXT.match(lines[end].text):
            end += 1
        more = lines if result.message else ()
        yield SessionFailure(result.node, result.message, more[:end], result.line)


def _results(sightings: Sightings) -> Iterator[_Result]:
    for line in sightings.get("test-result", ()):
        summary = _RESULT.match(line.text.lstrip())
        if summary is not None:
            message = summary["message"] or ""
            crashed = _CRASHED.match(message)
            yield _Result(crashed["node"] if crashed else summary["node"], message, line)
            continue
        progress = _PROGRESS.match(line.text)
        if progress is not None:
            yield _Result(progress["node"], "", line)


def _with_summary_first(results: list[_Result]) -> list[_Result]:
    """A test's line of the summary before its line of the progress, which has no message."""
    return sorted(results, key=lambda result: not result.message)


@dataclass(frozen=True, slots=True)
class _Heading:
    """The heading of a traceback: the test's name as pytest prints it there."""

    name: str
    line: LogLine
    collected: bool


def _headings(sightings: Sightings) -> list[_Heading]:
    """The headings in sections of failures and errors, the first `_MOST_TRACEBACKS`."""
    sections = sightings.get("session-section", ())
    begins = [line.number for line in sections]
    headings: list[_Heading] = []
    for line in sightings.get("session-heading", ()):
        index = bisect_right(begins, line.number) - 1
        match = _HEADING.match(line.text)
        if match is None:
            continue
        collected = match["phase"] != "ERROR collecting"
        in_section = index >= 0 and _is_of_failures(sections[index].text)
        # Such a heading stands nowhere else, and the section's own may be cut off.
        if collected and not in_section:
            continue
        headings.append(_Heading(match["name"], line, collected))
    return headings[:_MOST_TRACEBACKS]


def _is_of_failures(section: str) -> bool:
    return section.strip("= ") in _FAILED_SECTIONS


def _ranges(
    headings: list[_Heading], results: list[_Result | None], sightings: Sightings
) -> list[LineRange]:
    """Where each traceback stands: up to the next one, or to the line that names its test again.

    Where none does, up to the end of the section. That is not enough where sessions mix, because
    the next end may be another session's.
    """
    ends = [heading.line.number for heading in headings]
    for mark in ("session-section", "session-end", "session-start"):
        ends += [line.number for line in sightings.get(mark, ())]
    ends.sort()
    ranges = []
    for index, (heading, result) in enumerate(zip(headings, results, strict=True)):
        number = heading.line.number
        last = number + _LONGEST_TRACEBACK
        if index + 1 < len(headings):
            last = min(last, headings[index + 1].line.number - 1)
        if result is not None and result.line.number > number:
            last = min(last, result.line.number)
        else:
            last = min([last, *(end - 1 for end in ends[bisect_right(ends, number) :][:1])])
        ranges.append(LineRange(number + 1, last))
    return ranges


def _from_traceback(
    heading: _Heading, result: _Result | None, lines: tuple[LogLine, ...]
) -> SessionFailure:
    if not heading.collected:
        return SessionFailure(heading.name, "", lines, heading.line, collected=False)
    if result is not None:
        return SessionFailure(result.node, result.message, lines, heading.line)
    crashed = next((match for line in lines if (match := _CRASHED.match(line.text))), None)
    if crashed is not None:
        return SessionFailure(crashed["node"], "", lines, heading.line)
    path = _last_test_file(lines)
    node = "::".join([path, *heading.name.split(".")]) if path else heading.name
    return SessionFailure(node, "", lines, heading.line)


def _by_name(results: Iterable[_Result]) -> dict[str, list[_Result]]:
    """The results by each name that a heading may have, in the order of the log."""
    by_name: dict[str, list[_Result]] = {}
    for result in results:
        for name in {result.name, result.node}:
            by_name.setdefault(name, []).append(result)
    return by_name


def _result_of(heading: _Heading, by_name: Mapping[str, list[_Result]]) -> _Result | None:
    """The next line that names this test; else the last one before."""
    if not heading.collected:
        return None
    same = by_name.get(heading.name) or by_name.get(_without_part(heading.name), [])
    after = [result for result in same if result.line.number > heading.line.number]
    if after:
        return after[0]
    return same[-1] if same else None


def _without_part(name: str) -> str:
    """The name of a test in a heading that says which of its subtests failed."""
    while (part := _PART_OF_TEST.search(name)) is not None:
        name = name[: part.start()]
    return name


def _last_test_file(lines: tuple[LogLine, ...]) -> str:
    """The file of the outermost frame of a traceback: the first place that pytest names.

    Not an installed package's, which warns amid the traceback's lines.
    """
    for line in lines:
        match = _TEST_FILE.match(line.text)
        if match is not None and not _INSTALLED.search(match["path"]):
            return match["path"]
    return ""
