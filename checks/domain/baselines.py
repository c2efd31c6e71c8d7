"""Tests that compare logprobs with a stored baseline, and the engine they start to get them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.domain.ops import calls_of
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Assert, guarded_statements

# A line that quotes the name of something stored, such as "baseline/logprobs.json".
_QUOTED = re.compile(r"(?i)[\"'][\w./{}-]*log_?probs?[\w./{}-]*[\"']")
_READS = re.compile(r"(?i)load|save|open|read|record|join|path|baseline|golden|snapshot|compare")
_STORED = re.compile(r"(?i)log_?prob")
_BASELINE = re.compile(r"baseline|golden|snapshot|BASELINE")
_SPECULATIVE = re.compile(
    r"(?i)--?speculative[-_]|speculative_?(config|decoding|method)?\s*[=:(]|num_speculative_tokens"
)
_OFF = re.compile(r"(?i)speculative\w*\s*[=:]\s*(None|False|\{\})")


@dataclass(frozen=True, slots=True)
class BaselineTest:
    """A test function that holds its logprobs against a stored baseline.

    `line` names what is stored, as `stored`. `speculative` is the line where the test turns
    speculative decoding on, 0 where it does not.
    """

    unit: SourceFile
    function: Function
    line: int
    stored: str
    speculative: int

    @property
    def node(self) -> str:
        """The test's id for pytest."""
        return "::".join((self.unit.path, *self.function.qualname.split(".")))


def baseline_tests(change: ChangeSet, config: Config) -> Iterator[BaselineTest]:
    """Every such test of the head, one for each file: the first in it."""
    for path in change.head.paths_containing("logprobs", "python"):
        if not config.is_test(path) and not config.is_e2e(path):
            continue
        if not _may_use_baseline(change.head.read(path) or b""):
            continue
        unit = change.unit(path)
        if unit is not None:
            first = next(_tests_in(unit), None)
            if first is not None:
                yield first


def _may_use_baseline(data: bytes) -> bool:
    """Whether a line of the file names stored logprobs: only such a file is parsed."""
    text = data.decode("utf-8", "replace")
    if not _BASELINE.search(text):
        return False
    for line in text.splitlines():
        if "ogprob" in line and _QUOTED.search(line) and _READS.search(line):
            return True
    return False


def _tests_in(unit: SourceFile) -> Iterator[BaselineTest]:
    for function in unit.functions:
        if not function.name.startswith("test") or not _asserts(function):
            continue
        for call, _ in calls_of(function.body):
            stored = _stored_name(call)
            if stored:
                yield BaselineTest(unit, function, call.line, stored, _speculative_line(unit))
                break


def _asserts(function: Function) -> bool:
    return any(isinstance(guarded.stmt, Assert) for guarded in guarded_statements(function.body))


def _stored_name(call: E.Call) -> str:
    """The name of the stored logprobs that a call loads, saves or makes a path of."""
    if not _READS.search(E.callee(call)):
        return ""
    for argument in call.args:
        if not isinstance(argument, E.Const) or not isinstance(argument.value, str):
            continue
        # A text with spaces is a message to a person.
        if _STORED.search(argument.value) and " " not in argument.value.strip():
            return argument.value
    return ""


def _speculative_line(unit: SourceFile) -> int:
    """The line on which the test's engine gets speculative decoding, 0 where none does."""
    for number, text in enumerate(unit.lines, 1):
        if text.lstrip().startswith("#") or _OFF.search(text):
            continue
        if _SPECULATIVE.search(text):
            return number
    return 0
