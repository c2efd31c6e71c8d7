"""The test that was running when a process died, or when its time was over.

Every framework says when a test begins and when it ends. What began before the line that tells of
the death and has no end is the test. Where workers run several at a time, and more than one is
open, nothing is named.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from checks.ci.log_details import go_test, pytest_id, rust_test
from checks.ci.log_ranges import LineRange
from checks.ci.pytest_sessions import is_same_file
from checks.ci.report import LogLine

# Lines before the death in which the test may have begun, and after it, where its end may stand.
_BEFORE, _AFTER = 10_000, 300
# A shell's own lines may overtake the last ones of a program whose output goes through a pipe.
_OVERTAKEN = 12
_RESULT = r"(?:PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS|RERUN)"
_PERCENT = r"\[\s{0,3}\d{1,3}%\]"
_WORKER_RESULT = re.compile(rf"^{_PERCENT} {_RESULT} (?P<name>\S.{{0,400}}?)\s{{0,4}}$")
_NEW_SESSION = re.compile(
    r"^(?:={3,300} test session starts =|\[={10}\] Running \d|running \d{1,6} tests?$)"
)


@dataclass(frozen=True, slots=True)
class RunningTest:
    """A test that had begun and did not end. `line` says so."""

    name: str
    line: LogLine


@dataclass(frozen=True, slots=True)
class _Framework:
    """How a framework says that a test begins, and that it ends.

    What begins ends what ran before, unless `several` may run at a time. An end that names no test
    is that of the last one. A line that `goes_on` shows that the last one had not ended.
    """

    begins: re.Pattern[str]
    ends: re.Pattern[str]
    several: bool = False
    goes_on: re.Pattern[str] | None = None


_PYTEST = _Framework(
    re.compile(r"^(?P<name>\S{1,400}?\.py::\S{1,400})"),
    re.compile(rf"{_RESULT}(?: \(.{{0,300}}\))?\s{{0,40}}(?:{_PERCENT})?$"),
)
_PYTEST_WORKERS = _Framework(_PYTEST.begins, _WORKER_RESULT, several=True)
_FRAMEWORKS = (
    # pytest, which without -v names files and prints a letter for each test
    _Framework(
        re.compile(
            r"^(?P<name>[\w./\\-]{0,300}test[\w./\\-]{0,200}\.py) "
            r"(?=[.sxXFEpRu]{0,400}(?:[A-Z*/]|$|(?<=\.)\S))"
        ),
        re.compile(rf"{_PERCENT}$"),
        goes_on=re.compile(r"^[.sxXFEpRu]{1,400}(?:[A-Z*/]|$|(?<=\.)\S)"),
    ),
    _Framework(  # unittest
        re.compile(r"^(?P<name>test\w{0,200} \([\w.]{1,300}\))(?= \.\.\.|$)"),
        re.compile(
            r"(?:\.\.\. |^)(?:ok|FAIL|ERROR|(?:un)?expected \w{7}|skip\w{0,4}\b.{0,300})"
            r"(?: \([\d.]{1,9}s\))?$"
        ),
    ),
    _Framework(  # gtest
        re.compile(r"^(?:\d{1,6}: )?\[ RUN      \] (?P<name>\S{1,300})$"),
        re.compile(
            r"^(?:\d{1,6}: )?\[\s{1,7}(?:OK|FAILED|SKIPPED)\s{1,2}\] (?P<name>[^\s,]{1,300})"
        ),
    ),
    _Framework(  # go
        re.compile(r"^=== (?:RUN|CONT|NAME)\s{1,4}(?P<name>Test\S{0,300})$"),
        re.compile(r"^(?:\s{0,16}--- (?:PASS|FAIL|SKIP):|=== PAUSE)\s{1,4}(?P<name>\S{1,300})"),
        several=True,
    ),
    _Framework(  # cargo
        re.compile(r"^test (?P<name>[\w:]{1,300})(?: - \S.{0,100}?)? \.\.\. "),
        re.compile(r"\.\.\. (?:ok|FAILED|ignored|bench:)|^(?:ok|FAILED)$"),
    ),
    _Framework(  # ctest
        re.compile(r"^\s{0,8}Start\s{1,5}\d{1,6}: (?P<name>\S.{0,300})$"),
        re.compile(r"^\s{0,8}\d{1,6}/\d{1,6} Test\s{1,5}#\d{1,6}: (?P<name>\S{1,300})"),
        several=True,
    ),
    _Framework(  # surefire
        re.compile(r"^\[INFO\] Running (?P<name>[\w.$]{1,300})$"),
        re.compile(r"\bTests run: \d.{0,200} in (?P<name>[\w.$]{1,300})$"),
        several=True,
    ),
    _Framework(  # scripts that run one file after the other
        re.compile(r"^(?:Running pytest file: |python3? )(?P<name>\S{0,300}test\S{0,200}\.py)$"),
        re.compile(r"^filename='\S{0,300}test\S{0,200}\.py'"),
    ),
)
# Lists of what was running, which a runner prints below the death: the heading, and an item.
_LISTS = (
    (  # go
        re.compile(r"^running tests:$"),
        re.compile(r"^\s{1,16}(?P<name>Test\S{0,300}) \([\dhms.]{2,20}\)$"),
    ),
    (  # surefire
        re.compile(r"^(?:\[ERROR\] )?Crashed tests:$"),
        re.compile(r"^(?:\[ERROR\] )?(?P<name>\w[\w$]{0,100}(?:\.\w[\w$]{0,100}){1,20})$"),
    ),
)
_FRAME = re.compile(
    r'^\s{0,8}File "(?P<path>[^"]{0,300}test[^"/]{0,100}\.py)", line \d{1,7},? '
    r"in (?P<name>test\w{0,200})$"
)
_GO_FRAME = re.compile(r"^[\w./-]{1,300}\.(?P<name>Test\w{1,200})(?:\.\w{1,40}){0,6}\(")
_GOROUTINE = re.compile(r"^goroutine \d{1,9} \[")
# The goroutine of a test that lets others run first.
_WAITS = re.compile(r"^testing\.\(\*(?:T|testContext|testState)\)\.(?:Parallel|waitParallel)\(")
_ABOVE_TESTS = re.compile(r"^/.{0,300}?/(?=tests?/)")
_ABOVE_FILE = re.compile(r"^/.{0,300}/")


def wanted_lines(death: LogLine) -> LineRange:
    """The lines around a death that `running_test` reads."""
    return LineRange(max(1, death.number - _BEFORE), death.number + _AFTER)


def running_test(lines: Sequence[LogLine], death: LogLine) -> RunningTest | None:
    """The test that was running at the line of the death, by the lines around it; None where none
    is known or several are.
    """
    name = pytest_id(death.text) or rust_test(death.text) or go_test(death.text)
    if name:
        return RunningTest(name, death)
    session = _session_around(lines, death.number)
    below = [line for line in session if line.number > death.number]
    listed = _listed(below)
    if listed is not None:
        return listed
    begun = _open_at(session, death.number) or _open_at(session, death.number + _OVERTAKEN)
    return _with_frame(begun, _test_frames(below))


def _session_around(lines: Iterable[LogLine], number: int) -> list[LogLine]:
    """From the beginning of the session in which line `number` stands to the next one's."""
    session: list[LogLine] = []
    for line in lines:
        if _NEW_SESSION.match(line.text):
            if line.number > number:
                break
            session = []
        session.append(line)
    return session


def _open_at(session: Sequence[LogLine], number: int) -> RunningTest | None:
    """The innermost test that began up to line `number` and has no end, there or below."""
    has_workers = any(_WORKER_RESULT.match(line.text) for line in session)
    pytest = _PYTEST_WORKERS if has_workers else _PYTEST
    innermost: list[RunningTest] = []
    for framework in (pytest, *_FRAMEWORKS):
        found = _open_tests(framework, session, number)
        if found and (not innermost or found[-1].line.number > innermost[-1].line.number):
            innermost = found
    leaves = leaf_names(test.name for test in innermost)
    return innermost[-1] if len(leaves) == 1 else None


def _open_tests(
    framework: _Framework, session: Iterable[LogLine], number: int
) -> list[RunningTest]:
    """What began up to line `number` and did not end, in the order of beginning."""
    running: dict[str, RunningTest] = {}
    last: RunningTest | None = None
    for line in session:
        is_before = line.number <= number
        begins = framework.begins.match(line.text) if is_before else None
        if begins is not None:
            if not framework.several:
                running.clear()
            last = RunningTest(begins["name"], line)
            running[last.name] = last
        elif framework.goes_on and last and is_before and framework.goes_on.match(line.text):
            running[last.name] = last
        ends = framework.ends.search(line.text) if running else None
        if ends is not None and "name" in framework.ends.groupindex:
            running.pop(ends["name"], None)
        elif ends is not None:
            running.popitem()
    return list(running.values())


def leaf_names(names: Iterable[str]) -> list[str]:
    """The names that are no other's parent: `TestA/x`, and not `TestA`."""
    every = list(names)
    parents: set[str] = set()
    for name in every:
        parts = name.split("/")
        parents.update("/".join(parts[:end]) for end in range(1, len(parts)))
    return [name for name in every if name not in parents]


def _listed(below: Iterable[LogLine]) -> RunningTest | None:
    """The one test of a list of what was running. A test's parents stand above it and are none."""
    named: dict[str, LogLine] = {}
    item: re.Pattern[str] | None = None
    for line in below:
        match = item.match(line.text) if item is not None else None
        if match is not None:
            named.setdefault(match["name"], line)
        elif named:
            break
        for heading, shape in _LISTS:
            if heading.match(line.text):
                item = shape
    leaves = leaf_names(named)
    return RunningTest(leaves[0], named[leaves[0]]) if len(leaves) == 1 else None


def _test_frames(below: Iterable[LogLine]) -> dict[str, LogLine]:
    """The test functions in the stack that is printed below the death: `path::function`."""
    found: dict[str, LogLine] = {}
    waits = False
    for line in below:
        if _GOROUTINE.match(line.text):
            waits = False
        elif _WAITS.match(line.text):
            waits = True
        python, go = _FRAME.match(line.text), _GO_FRAME.match(line.text)
        if python is not None:
            found.setdefault(f"{_path_of(python['path'])}::{python['name']}", line)
        if go is not None and not waits:
            found.setdefault(go["name"], line)
    return found


def _path_of(printed: str) -> str:
    """A path from its folder of tests on, if it is a whole one."""
    return _ABOVE_FILE.sub("", _ABOVE_TESTS.sub("", printed))


def _with_frame(begun: RunningTest | None, frames: dict[str, LogLine]) -> RunningTest | None:
    """What began, which may be a file: then with the function of the stack. Only what the stack
    says where nothing is known to have begun.
    """
    if len(frames) != 1:
        return begun
    ((name, line),) = frames.items()
    if begun is None:
        return RunningTest(name, line)
    path, _, function = name.partition("::")
    if is_same_file(path, begun.name):
        return RunningTest(f"{begun.name}::{function}", line)
    return begun
