"""The tests of an op are deleted while the op is rewritten.

## What it does

For every op whose C++ function the change wrote or altered, it looks in the tests that the change
deletes for calls of that op, an older version of it (`op_v1`) included. Where there are some and no
test of the head calls the op, it says so, once for each file.

## Why it matters

PaddlePaddle/FastDeploy#6493 rewrote two kernels and deleted both operator tests.

## Example

```diff
- void LimitLength(const Tensor& a) { ... }
+ void LimitLength(const Tensor& a, int reply) { ... }
deleted: tests/operators/test_limit_length.py
```

## Known limits

A test calls an op by its name; one that reaches it through a Python wrapper is not seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.core.change import ChangeSet, FileChange
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Message, Related, Severity, Side
from checks.lang.ir.source_file import SourceFile
from checks.lang.source import language
from checks.rules.protocol._op_coverage import is_tested

ID = "protocol.deleted-test"

_MOST_TESTS = 6


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One finding for each C++ file: its first op without a test that had one."""
    deleted = _deleted_tests(change, config)
    if not deleted:
        return
    for file in change.files:
        if language(file.path) != "cpp" or config.is_test(file.path) or not file.head_path:
            continue
        unit = change.unit(file.head_path)
        if unit is None:
            continue
        for op in _rewritten_ops(file, unit, change):
            tests = _tests_calling(op, deleted)
            if tests and not is_tested(op, change, config):
                yield _finding(op, file, tests)
                break


def _deleted_tests(change: ChangeSet, config: Config) -> dict[str, str]:
    """The tests that the change deletes: path -> text."""
    texts: dict[str, str] = {}
    for file in change.files:
        if file.head_path is None and file.base_path and config.is_test(file.base_path):
            data = change.base.read(file.base_path) or b""
            texts[file.base_path] = data.decode("utf-8", "replace")
    return texts


def _rewritten_ops(file: FileChange, unit: SourceFile, change: ChangeSet) -> Iterator[str]:
    """The ops of a file whose kernel function the change wrote or altered."""
    touched: set[str] = set()
    for function in unit.functions:
        if change.touches(unit.path, function.start_line, function.end_line):
            touched.add(function.name)
    for op in unit.ops:
        if file.base_path is None or op.kernel.rsplit("::", 1)[-1] in touched:
            yield op.name


def _tests_calling(op: str, tests: dict[str, str]) -> list[str]:
    # A test of `op_v1` was a test of what is `op` now.
    name = re.sub(r"_v\d+$", "", op)
    call = re.compile(rf"(?<!\w){re.escape(name)}(_v\d+)?\s*\(")
    return [path for path, text in tests.items() if call.search(text)]


def _finding(op: str, file: FileChange, tests: list[str]) -> Finding:
    related = []
    for path in tests:
        place = Location(path, 0, side=Side.BASE)
        related.append(Related(place, Message("was-tested", {"op": op})))
    first_line = min(file.head_lines(), default=1)
    return Finding(
        rule=ID,
        severity=Severity.SUGGESTION,
        confidence=Confidence.HIGH,
        location=Location(file.path, first_line),
        message=Message("deleted", {"op": op, "tests": tests[:_MOST_TESTS]}),
        symbol=op,
        subject=" ".join(tests),
        related=tuple(related),
    )
