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

# A line that quotes the name of something stored: the cheap sieve before a test is parsed.
_QUOTED = re.compile(rb"(?i)[\"'][\w./{}-]*log_?probs?[\w./{}-]*[\"']")
_READS = re.compile(r"(?i)load|save|open|read|record|join|path|baseline|golden|snapshot|compare")
_STORED = re.compile(r"(?i)log_?prob")
_BASELINE = (b"baseline", b"golden", b"snapshot", b"BASELINE")
_SPECULATIVE = re.compile(
    r"(?i)--?speculative[-_]|speculative_?(config|decoding|method)?\s*[=:(]|num_speculative_tokens"
)
_OFF = re.compile(r"(?i)speculative\w*\s*[=:]\s*(None|False|\{\})")


@dataclass(frozen=True, slots=True)
class BaselineTest:
    """A test function that holds its logprobs against a stored baseline: `line` names what is stored, as `stored`.

    `speculative` is the line where it turns speculative decoding on, 0 where it does not.
    """

    unit: SourceFile
    function: Function
    line: int
    stored: str
    speculative: int

    @property
    def node(self) -> str:
        return "::".join((self.unit.path, *self.function.qualname.split(".")))


def baseline_tests(change: ChangeSet, config: Config) -> Iterator[BaselineTest]:
    """Every such test of the head, one for each file: the first in it."""
    paths = change.head.paths_containing("logprobs", "python")
    for path in (p for p in paths if config.is_test(p) or config.is_e2e(p)):
        unit = change.unit(path) if _may_store(change.head.read(path) or b"") else None
        found = next(_in_unit(unit), None) if unit is not None else None
        if found is not None:
            yield found


def _may_store(data: bytes) -> bool:
    if not any(word in data for word in _BASELINE):
        return False
    return any(b"ogprob" in line and _QUOTED.search(line) and _READS.search(line.decode("utf-8", "replace"))
               for line in data.splitlines())  # fmt: skip


def _in_unit(unit: SourceFile) -> Iterator[BaselineTest]:
    for function in unit.functions:
        text = (
            unit.text(function.start_line, function.end_line)
            if function.name.startswith("test")
            else ""
        )
        if "assert" not in text or not _STORED.search(text):
            continue
        if not any(isinstance(g.stmt, Assert) for g in guarded_statements(function.body)):
            continue
        for call, _ in calls_of(function.body):
            stored = _stored(call)
            if stored:
                yield BaselineTest(unit, function, call.line, stored, _speculative(unit))
                break


def _stored(call: E.Call) -> str:
    """The name of the stored logprobs that a call loads, saves or makes a path of."""
    if not _READS.search(E.callee(call)):
        return ""
    texts = [a.value for a in call.args if isinstance(a, E.Const) and isinstance(a.value, str)]
    return next((t for t in texts if _STORED.search(t) and " " not in t.strip()), "")


def _speculative(unit: SourceFile) -> int:
    """The line on which the test's engine gets speculative decoding, 0 where none does."""
    for number, text in enumerate(unit.lines, 1):
        if (
            _SPECULATIVE.search(text)
            and not _OFF.search(text)
            and not text.lstrip().startswith("#")
        ):
            return number
    return 0
