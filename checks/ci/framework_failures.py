"""Failed tests that other frameworks name in a log: gtest, ctest, unittest, go, cargo, nextest,
bazel, jest, vitest, Boost, lit, XCTest, xUnit, Gradle, surefire, Autotest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from checks.ci.log_ranges import LineRange, read_ranges
from checks.ci.pytest_sessions import SessionFailure
from checks.ci.report import LogLine
from checks.ci.running_tests import leaf_names

Sightings = Mapping[str, Sequence[LogLine]]

_MOST = 400
# cargo tells why in a section of its own.
_OUTPUT = re.compile(r"^---- (?P<name>.{1,300}) stdout ----$")
_LONGEST_OUTPUT = 40
_OUTPUT_END = re.compile(r"^(?:---- |failures:|test result:)")
# What a failed test prints there: with `--show-output` those that passed have such a section too.
_OUTPUT_FAILED = re.compile(
    r"^\s{0,4}(?:thread '.{1,200}panicked at|Error: |note: test did not panic)"
)


@dataclass(frozen=True, slots=True)
class _Shape:
    """How a framework names a failed test, and where it tells why.

    `before` and `after` are lines around the name; `begins` and `ends` cut them. `tells`: the
    forms of the line that says why, the surest first; of one form the last line counts.
    """

    name: re.Pattern[str]
    before: int
    after: int
    begins: re.Pattern[str] | None = None
    ends: re.Pattern[str] | None = None
    tells: tuple[re.Pattern[str], ...] = ()


_TESTIFY_ERROR = re.compile(r"^\s{1,40}Error:\s{1,20}(?P<said>\S.{0,1000})$")
_SHAPES = (
    _Shape(  # gtest tells first, then names
        re.compile(
            r"^(?:\d{1,6}: )?\[  FAILED  \] (?P<name>[\w./]{1,200})"
            r"(?:, where .{1,200})?(?: \(\d+ ms\))?$"
        ),
        before=60,
        after=0,
        begins=re.compile(r"^(?:\d{1,6}: )?\[ RUN      \] "),
    ),
    _Shape(  # go, which may tell on either side
        re.compile(r"^\s{0,16}--- FAIL: (?P<name>\S{1,300})"),
        before=12,
        after=12,
        begins=re.compile(r"^\s{0,16}(?:=== RUN|--- (?:PASS|FAIL))"),
        ends=re.compile(r"^\s{0,16}(?:--- (?:PASS|FAIL)|FAIL\b|ok\s|=== RUN)"),
        tells=(
            _TESTIFY_ERROR,
            re.compile(r"^\s{1,40}[\w./-]{1,200}\.go:\d{1,7}: (?P<said>\S.{0,1000})$"),
        ),
    ),
    _Shape(  # testify, where go's own line is cut off
        re.compile(r"^\s{1,40}Test:  \s{0,20}(?P<name>Test\S{1,300})$"),
        before=12,
        after=0,
        begins=re.compile(r"^\s{1,40}Error Trace:"),
        tells=(_TESTIFY_ERROR,),
    ),
    _Shape(  # Boost
        re.compile(
            r"^[^\s:]{1,300}(?: location)?\(\d{1,7}\): (?:fatal )?error: in "
            r"\"(?P<name>[^\"]{1,300})\": "
        ),
        before=0,
        after=0,
        tells=(re.compile(r"^.{1,330}error: in \"[^\"]{1,300}\": (?P<said>\S.{0,1000})$"),),
    ),
    _Shape(  # unittest
        re.compile(
            r"^(?:FAIL|ERROR)(?: \[[\d.]+s\])?: "
            r"(?P<name>(?:test[\w.]{0,200}|(?:setUp|tearDown)(?:Class|Module)) \(\S{1,200}\))"
        ),
        before=0,
        after=80,
        ends=re.compile(r"^={40,}$|^Ran \d+ tests? in "),
    ),
    _Shape(  # cargo names here and tells in a section of its own
        re.compile(r"^test (?P<name>.{1,200}?)(?: - should panic)? \.\.\. FAILED$"),
        before=0,
        after=0,
    ),
    _Shape(
        re.compile(r"^\s{0,6}\d+/\d+ Test\s{1,4}#\d+: (?P<name>.{1,200}?) \.{2,200}.{0,40}\*\*\*"),
        before=0,
        after=40,
        ends=re.compile(
            r"^\s{0,8}(?:Start\s{1,3}\d+: |\d+/\d+ Test\s{1,4}#\d+: |\d+% tests passed)"
        ),
    ),
    _Shape(
        re.compile(
            r"^\s{1,12}(?:FAIL|SIGSEGV|SIGABRT|TIMEOUT) \[\s{0,6}[\d.]+s\] (?P<name>.{1,300})$"
        ),
        before=0,
        after=30,
        ends=re.compile(r"^\s{1,12}(?:PASS|FAIL|SIGSEGV|SIGABRT|TIMEOUT) \["),
    ),
    _Shape(  # jest
        re.compile(r"^\s{0,6}● (?P<name>\S.{0,300}? › .{1,300})$"),
        before=0,
        after=20,
        ends=re.compile(r"^\s{0,6}● |^(?:PASS|FAIL) |^Test Suites:|^\s{1,8}(?:>\s)?\d{1,6} \|"),
        tells=(re.compile(r"^ {4}(?P<said>(?:\w{0,60}Error: |expect\(|thrown: ).{0,1000})$"),),
    ),
    _Shape(  # vitest
        re.compile(r"^\s{0,6}FAIL {1,2}(?P<name>\S{1,300}\.\w{2,4} > .{1,300})$"),
        before=0,
        after=20,
        ends=re.compile(r"^\s{0,6}(?:FAIL |❯ |⎯|Test Files)"),
        tells=(re.compile(r"^(?P<said>\w{0,60}Error: .{1,1000})$"),),
    ),
    _Shape(  # XCTest
        re.compile(
            r"^\S.{0,300}:\d{1,7}: error: "
            r"(?P<name>-\[[\w.]{1,100} \w{1,200}\]|[\w.]{1,200}\.test\w{0,200}) : "
        ),
        before=0,
        after=0,
    ),
    _Shape(  # xUnit names, and tells in a second place below
        re.compile(
            r"^\s{0,4}(?:Failed |\[xUnit\.net [\d:.]{5,20}\]\s{1,40})"
            r"(?P<name>\S.{1,400}?) \[(?:FAIL|(?:< )?\d.{0,16}s)\]$"
        ),
        before=0,
        after=20,
        ends=re.compile(r"^\s{0,8}Stack Trace:"),
        tells=(
            re.compile(
                r"^\s{0,8}(?P<said>(?:Assert\.\w{1,60}(?:\(\) Failure| failed)|"
                r"(?:\w{1,60}\.){0,8}\w{1,60}Exception ?: ).{0,800})$"
            ),
        ),
    ),
    _Shape(  # Gradle
        re.compile(r"^(?P<name>\w[\w.$ ]{0,300} > .{1,300}?) FAILED ?$"),
        before=0,
        after=6,
        ends=re.compile(r"^$| FAILED ?$"),
        tells=(
            re.compile(
                r"^\s{1,8}(?P<said>(?:[\w$]{1,60}\.){1,12}\w{1,80}(?:Error|Exception|Failure)"
                r"\b(?:$|: .{1,1000}| at \S.{1,300}))$"
            ),
        ),
    ),
    _Shape(  # surefire
        re.compile(
            r"^(?:\[ERROR\]\s{1,3})?(?P<name>[\w.$\[\]]{1,300}(?:\([\w.$]{1,300}\))?)"
            r"\s{1,4}(?:-- )?Time elapsed: .{1,30}<<< (?:FAILURE|ERROR)!"
        ),
        before=0,
        after=6,
        ends=re.compile(r"^$|^\s{1,8}at "),
        tells=(re.compile(r"^(?P<said>(?:\w{1,60}\.){1,12}\w{1,80}(?::.{0,1000})?)$"),),
    ),
    _Shape(  # lit, as it goes
        re.compile(r"^FAIL: (?P<name>\S.{0,100}? :: \S{1,300})(?: \(\d{1,7} of \d{1,7}\))?$"),
        before=0,
        after=0,
    ),
    _Shape(  # Autotest
        re.compile(r"^\s{0,3}\d{1,5}: (?P<name>\S.{0,100}?)\s{2,100}FAILED \(\S{1,100}:\d{1,7}\)$"),
        before=0,
        after=0,
    ),
)
# Lists at the end of a run, which name and do not tell why. ctest's counts where the run's own
# lines are not in the log, bazel's where no framework below it named its tests.
_OF_CTEST = re.compile(
    r"^\s{0,20}\d+ - (?P<name>\S.{0,200}?) \((?:[A-Z]\w{1,20}|[A-Z]\w{1,20} \w{1,20})\)"
)
_OF_LIT = re.compile(r"^ {2,4}(?P<name>\S.{0,100}? :: \S{1,300})$")
_LIT_LIST = re.compile(r"^(?P<kind>[A-Z][A-Za-z ]{2,30}) Tests \(\d{1,7}\):$")
_LIT_FAILED = frozenset({"Failed", "Failing", "Timed Out", "Unresolved", "Unexpectedly Passed"})
_OF_SUREFIRE = re.compile(
    r"^(?:\[ERROR\]|Failed tests:|Tests in error:)?\s{1,4}(?:Run \d{1,3}: )?"
    r"(?P<name>[\w$]{1,200}\.\w{1,200}(?=:\d)|\w{1,200}\([\w.$]{3,300}\)(?=: ))"
)
_OF_BAZEL = re.compile(r"^(?P<name>//\S{1,200})\s{1,80}(?:FAILED|TIMEOUT) in \d")


def framework_failures(stream: BinaryIO, sightings: Sightings) -> Iterator[SessionFailure]:
    """Each failed test once, in the order of the log, with the lines that tell why."""
    named: dict[str, tuple[LogLine, _Shape]] = {}
    for line in sightings.get("framework-failure", ()):
        for shape in _SHAPES:
            match = shape.name.match(line.text)
            if match is not None:
                named.setdefault(match["name"].strip(), (line, shape))
                break
    leaves = leaf_names(named)[:_MOST]
    outputs = _outputs(sightings)
    ranges = [_output_range(outputs[n]) if n in outputs else _range(*named[n]) for n in leaves]
    for name, lines in zip(leaves, read_ranges(stream, ranges), strict=True):
        line, shape = named[name]
        told = _up_to_end(lines) if name in outputs else _cut(lines, line, shape)
        yield SessionFailure(name, _said(told, shape), told, line)
    if not leaves:
        yield from _of_quiet_cargo(stream, outputs)
        yield from _of_lists(sightings)


def _said(told: tuple[LogLine, ...], shape: _Shape) -> str:
    """Why the test failed, in one line; empty where the framework has no form for that."""
    for form in shape.tells:
        for line in reversed(told):
            match = form.match(line.text)
            if match is not None:
                return match["said"]
    return ""


def _of_quiet_cargo(stream: BinaryIO, outputs: Mapping[str, LogLine]) -> Iterator[SessionFailure]:
    """The failed tests of `cargo test -q`, which names them nowhere but above their output."""
    names = list(outputs)[:_MOST]
    ranges = [_output_range(outputs[name]) for name in names]
    for name, lines in zip(names, read_ranges(stream, ranges), strict=True):
        told = _up_to_end(lines)
        if any(_OUTPUT_FAILED.match(line.text) for line in told):
            yield SessionFailure(name, "", told, outputs[name])


def _of_lists(sightings: Sightings) -> Iterator[SessionFailure]:
    """The tests that only a list at the end names: ctest's, else lit's, surefire's, bazel's."""
    lines = sightings.get("framework-failure", ())
    lists = (
        (_OF_CTEST, lines),
        (_OF_LIT, _lit_failures(lines)),
        (_OF_SUREFIRE, lines),
        (_OF_BAZEL, lines),
    )
    for pattern, named in lists:
        found: dict[str, LogLine] = {}
        for line in named:
            match = pattern.match(line.text)
            if match is not None:
                found.setdefault(match["name"], line)
        if found:
            for name, line in list(found.items())[:_MOST]:
                yield SessionFailure(name, "", (), line)
            return


def _lit_failures(lines: Iterable[LogLine]) -> list[LogLine]:
    """The lines of lit's lists of tests that did not do as they should: it has others too."""
    failed = []
    is_failed = False
    for line in lines:
        heading = _LIT_LIST.match(line.text)
        if heading is not None:
            is_failed = heading["kind"] in _LIT_FAILED
        elif is_failed:
            failed.append(line)
    return failed


def _outputs(sightings: Sightings) -> dict[str, LogLine]:
    """The lines below which cargo prints each failed test's output."""
    headings = {}
    for line in sightings.get("test-output", ()):
        match = _OUTPUT.match(line.text)
        if match is not None:
            headings[match["name"]] = line
    return headings


def _output_range(heading: LogLine) -> LineRange:
    return LineRange(heading.number + 1, heading.number + _LONGEST_OUTPUT)


def _up_to_end(lines: tuple[LogLine, ...]) -> tuple[LogLine, ...]:
    for index, line in enumerate(lines):
        if _OUTPUT_END.match(line.text):
            return lines[:index]
    return lines


def _range(line: LogLine, shape: _Shape) -> LineRange:
    return LineRange(max(1, line.number - shape.before), line.number + shape.after)


def _cut(lines: tuple[LogLine, ...], name: LogLine, shape: _Shape) -> tuple[LogLine, ...]:
    """The lines from the test's beginning to the next test's."""
    kept: list[LogLine] = []
    for line in lines:
        if line.number < name.number and shape.begins is not None and shape.begins.match(line.text):
            kept = []
        if line.number > name.number and shape.ends is not None and shape.ends.match(line.text):
            break
        kept.append(line)
    return tuple(kept)
