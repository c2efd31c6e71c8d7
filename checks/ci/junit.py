"""JUnit XML of any size: what failed, what passed, and what could not be read.

The file is streamed, a test case at a time, and each case is interpreted by junitparser. Entities are refused
(defusedxml). A file that ends early or is not well formed gives the cases before that place, and says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import BinaryIO
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import iterparse
from junitparser import Error, Failure, Skipped, TestCase

from checks.ci.message_keys import JUnitProblem

# What is kept of a failure's text: its end, where the error stands.
LONGEST = 20_000


@dataclass(frozen=True, slots=True)
class FailedCase:
    """A test that failed. `test` is pytest's node id, or `suite.name`; `text` is its traceback, `message` the tool's
    summary, `errors` what was written to standard error."""

    test: str
    message: str
    text: str
    errors: str = ""


@dataclass(frozen=True, slots=True)
class JUnitResults:
    """The failed cases in the file's order, and ids of those that passed and were skipped."""

    failed: tuple[FailedCase, ...]
    passed: frozenset[str]
    skipped: frozenset[str]
    problem: JUnitProblem | None = None


def read(stream: BinaryIO) -> JUnitResults:
    """The results in a JUnit file; never raises for what is in it."""
    failed: list[FailedCase] = []
    names: dict[bool, set[str]] = {True: set(), False: set()}
    problem, seen, root = None, False, None
    open_suites: list[Element] = []
    try:
        for event, element in iterparse(stream, events=("start", "end")):
            if event == "start":
                root = element if root is None else root
                if element.tag.startswith("testsuite"):
                    open_suites.append(element)
            elif element.tag == "testcase":
                seen = True
                _sort(element, failed, names)
                for suite in open_suites[-1:]:
                    suite.remove(element)
            elif element.tag.startswith("testsuite") and open_suites:
                open_suites.pop()
    except ParseError as error:
        ended = "no element found" in str(error) or "unclosed" in str(error)
        problem = JUnitProblem.TRUNCATED if ended and seen else JUnitProblem.INVALID
    except DefusedXmlException:
        problem = JUnitProblem.ENTITIES
    except (LookupError, ValueError):
        problem = JUnitProblem.INVALID  # an encoding that nobody knows
    if problem is None and (root is None or not root.tag.startswith("testsuite")):
        problem = JUnitProblem.INVALID
    elif problem is None and not seen:
        problem = JUnitProblem.EMPTY
    return JUnitResults(tuple(failed), frozenset(names[True]), frozenset(names[False]), problem)


def _sort(element: Element, failed: list[FailedCase], names: dict[bool, set[str]]) -> None:
    case = TestCase.fromelem(element)  # type: ignore[no-untyped-call]
    test = node_id(case.classname or "", case.name or "", element.get("file", ""))
    bad = next((r for r in case.result if isinstance(r, Failure | Error)), None)
    if bad is None:
        skipped = any(isinstance(r, Skipped) for r in case.result) or element.get("status") in (
            "notrun",
            "disabled",
        )
        names[not skipped].add(test)
        return
    text = (bad.text or "")[-LONGEST:]
    errors = (case.system_err or "")[-LONGEST:]
    failed.append(FailedCase(test, (bad.message or "")[:LONGEST], text, errors))


def node_id(classname: str, name: str, file: str = "") -> str:
    """pytest's node id from what its JUnit file keeps of it: `tests.a.test_b.TestC` + `test_d[1]` gives
    `tests/a/test_b.py::TestC::test_d[1]`. Other tools' names stay as they are."""
    parts = classname.split(".") if classname else []
    module = next((n for n in range(len(parts), 0, -1) if _is_module(parts[n - 1])), 0)
    if file.endswith(".py"):
        stem = file.removesuffix(".py").replace("\\", "/").split("/")
        module = len(stem) if parts[: len(stem)] == stem else module
    if module:
        return "::".join([f"{'/'.join(parts[:module])}.py", *parts[module:], name])
    return ".".join(p for p in (classname, name) if p)


def _is_module(part: str) -> bool:
    return part.startswith("test_") or part.endswith("_test") or part == "conftest"
