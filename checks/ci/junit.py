"""JUnit XML of any size: what failed, what passed, and what could not be read.

The file is streamed, one test case at a time, and each case is interpreted by junitparser. Entities
are refused (defusedxml). A file that ends early or is not well formed gives the cases before that
place, and `problem` says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import BinaryIO
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import iterparse
from junitparser import Error, Failure, Skipped, TestCase

from checks.ci.message_keys import JUnitProblem

# Characters that are kept of a failure's text: its end, where the error stands.
LONGEST = 20_000


@dataclass(frozen=True, slots=True)
class FailedCase:
    """A test that failed. `test` is pytest's node id, or `suite.name`.

    `text` is its traceback, `message` the tool's summary, `errors` what was written to standard
    error.
    """

    test: str
    message: str
    text: str
    errors: str = ""


@dataclass(frozen=True, slots=True)
class JUnitResults:
    """The failed cases in the file's order, and the ids of those that passed and of those that were
    skipped.
    """

    failed: tuple[FailedCase, ...]
    passed: frozenset[str]
    skipped: frozenset[str]
    problem: JUnitProblem | None = None


def read(stream: BinaryIO) -> JUnitResults:
    """The results in a JUnit file. Never raises because of what is in it."""
    reader = _Reader()
    problem: JUnitProblem | None = None
    try:
        for event, element in iterparse(stream, events=("start", "end")):
            if event == "start":
                reader.start(element)
            else:
                reader.end(element)
    except ParseError as error:
        ended_early = "no element found" in str(error) or "unclosed" in str(error)
        is_truncated = ended_early and reader.has_cases
        problem = JUnitProblem.TRUNCATED if is_truncated else JUnitProblem.INVALID
    except DefusedXmlException:
        problem = JUnitProblem.ENTITIES
    except (LookupError, ValueError):
        problem = JUnitProblem.INVALID  # an encoding that nobody knows
    if problem is None:
        problem = reader.problem()
    failed, passed, skipped = reader.failed, reader.passed, reader.skipped
    return JUnitResults(tuple(failed), frozenset(passed), frozenset(skipped), problem)


class _Reader:
    """Takes the elements of a JUnit file as they begin and end, and drops each test case that it
    has read.
    """

    def __init__(self) -> None:
        self.failed: list[FailedCase] = []
        self.passed: set[str] = set()
        self.skipped: set[str] = set()
        self.has_cases = False
        self._root: Element | None = None
        self._open_suites: list[Element] = []

    def start(self, element: Element) -> None:
        if self._root is None:
            self._root = element
        if element.tag.startswith("testsuite"):
            self._open_suites.append(element)

    def end(self, element: Element) -> None:
        if element.tag == "testcase":
            self.has_cases = True
            self._add(element)
            if self._open_suites:
                self._open_suites[-1].remove(element)
        elif element.tag.startswith("testsuite") and self._open_suites:
            self._open_suites.pop()

    def problem(self) -> JUnitProblem | None:
        """What is wrong with a file that was well formed."""
        if self._root is None or not self._root.tag.startswith("testsuite"):
            return JUnitProblem.INVALID
        if not self.has_cases:
            return JUnitProblem.EMPTY
        return None

    def _add(self, element: Element) -> None:
        case = TestCase.fromelem(element)  # type: ignore[no-untyped-call]
        test = node_id(case.classname or "", case.name or "", element.get("file", ""))
        for result in case.result:
            if isinstance(result, Failure | Error):
                text = (result.text or "")[-LONGEST:]
                message = (result.message or "")[:LONGEST]
                errors = (case.system_err or "")[-LONGEST:]
                self.failed.append(FailedCase(test, message, text, errors))
                return
        # Google Test writes no element for a skipped test, but an attribute.
        is_skipped = element.get("status") in ("notrun", "disabled")
        if is_skipped or any(isinstance(result, Skipped) for result in case.result):
            self.skipped.add(test)
        else:
            self.passed.add(test)


def node_id(classname: str, name: str, file: str = "") -> str:
    """pytest's node id, from what its JUnit file keeps of it.

    `tests.a.test_b.TestC` and `test_d[1]` give `tests/a/test_b.py::TestC::test_d[1]`. Names by
    other tools stay as they are.
    """
    parts = classname.split(".") if classname else []
    module_length = _module_length(parts, file)
    if module_length:
        path = "/".join(parts[:module_length]) + ".py"
        return "::".join([path, *parts[module_length:], name])
    return ".".join(part for part in (classname, name) if part)


def _module_length(parts: list[str], file: str) -> int:
    """How many parts of a dotted class name are the module's; 0 where none looks like a module."""
    if file.endswith(".py"):
        stem = file.removesuffix(".py").replace("\\", "/").split("/")
        if parts[: len(stem)] == stem:
            return len(stem)
    for length in range(len(parts), 0, -1):
        if _is_module(parts[length - 1]):
            return length
    return 0


def _is_module(part: str) -> bool:
    return part.startswith("test_") or part.endswith("_test") or part == "conftest"
