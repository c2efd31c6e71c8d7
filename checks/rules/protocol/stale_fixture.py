"""A test still writes the form that the code no longer reads.

## What it does

For every Python function whose body the change altered, it finds the tests that call it, follows each test from its
set-up into the new code with exact values where the code determines them, and reports a test that certainly raises an
exception it did not raise with the old code, when the value that leads to it came through an altered line. The finding
stands on the fixture's write; the evidence names the test, the expression with its value and the line that raises.
It also reports a test that calls a device op with an argument list that the op's registration does not have, and a
copy, in the same folder, of a fixture that the change rewrote for a value that the altered code names.

## Why it matters

PaddlePaddle/FastDeploy#7884 began to read `meta[1]` as a packed word. Five fixtures still wrote the bare message
flag, so `actual_topk` became 0 and four tests failed an hour later in CI with `IndexError`.

## Example

```python
mtype = packed & 0xFF
topk = packed >> 8            # the change
rows = tokens[:, :topk]

processor.output_tokens[1] = 3    # a fixture of the old form: topk is 0, and rows[0][0] raises IndexError
```

## Known limits

Only what the code determines is followed: a value from a foreign library, a mock or a branch on something unknown
ends the prediction, without a finding. Generators, coroutines and decorated helpers are not entered. A call of an op
that did not fit before the change either is a suggestion.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import PurePosixPath

from checks.core.change import ChangeSet, any_line_in
from checks.core.config import Config
from checks.core.finding import (
    Confidence,
    Finding,
    Location,
    Message,
    PredictedFailure,
    Severity,
    Side,
)
from checks.core.tree import contains_word, find_word
from checks.eval.interpreter.frames import Failure
from checks.eval.interpreter.machine import Machine
from checks.eval.interpreter.program import Modules, Program
from checks.eval.interpreter.values import GaveUp, Origin, Raised
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.source import language
from checks.rules.protocol._duplicate_fixtures import left_behind
from checks.rules.protocol._op_arguments import wrong_arguments

ID = "protocol.stale-fixture"

MOST_TESTS = 80
MOST_FILES = 24
BUDGET = 150_000


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    yield from _predicted(change, config)
    yield from wrong_arguments(change, config, ID)
    yield from left_behind(change, config, ID)


def _predicted(change: ChangeSet, config: Config) -> Iterator[Finding]:
    entries = _entry_points(change, config)
    if not entries:
        return
    budget = BUDGET
    for unit, function in islice(_tests_of(entries, change, config), MOST_TESTS):
        head = _interpret(unit, function, change, config, Side.HEAD, budget)
        budget -= head.spent
        new = [f for f in head.failures if _through_change(f, config)]
        if new:
            base = _interpret(unit, function, change, config, Side.BASE, budget)
            budget -= base.spent
            before = {(f.exception, f.line) for f in base.failures}
            new = [f for f in new if (f.exception, f.line) not in before and f.line in base.reached]
        yield from (_finding(f, head, unit, function) for f in new)
        if budget <= 0:
            return


class _Run:
    """What following one test gave."""

    def __init__(self, machine: Machine, spent: int) -> None:
        self.failures = machine.failures
        self.stores = machine.stores
        self.reached = machine.reached
        self.spent = spent


def _interpret(
    unit: SourceFile, test: Function, change: ChangeSet, config: Config, side: Side, budget: int
) -> _Run:
    """Follow `test` of the head into the code of `side`."""

    def module(path: str) -> SourceFile | None:
        return change.unit(path, Side.HEAD if config.is_test(path) else side)

    def altered(path: str, start: int, end: int) -> bool:
        return side is Side.HEAD and change.touches(path, start, end)

    start = min(budget, 60_000)
    modules = change.memo((ID, side), lambda: Modules(module))
    machine = Machine(Program(modules), altered, config.is_test, start)
    try:
        machine.run(test, unit)
    except (GaveUp, RecursionError, Raised):
        # What is raised where no test could catch it, in the set-up of a patch: the test is not understood.
        machine.failures.clear()
    return _Run(machine, start - machine.budget)


def _through_change(failure: Failure, config: Config) -> bool:
    return any(not config.is_test(o.path) for o in failure.origins)


def _entry_points(change: ChangeSet, config: Config) -> dict[str, set[str]]:
    """For each altered Python module, by its last name: the altered functions and those of the file that call them."""
    entries: dict[str, set[str]] = {}
    for _, head in change.changed_functions():
        if head is None or language(head.path) != "python" or config.is_test(head.path):
            continue
        path = PurePosixPath(head.path)
        names = entries.setdefault(
            path.parent.name if path.stem == "__init__" else path.stem, set()
        )
        names.add(head.owner if head.name == "__init__" and head.owner else head.name)
        unit = change.unit(head.path)
        named = [line for line, _ in find_word(change.head.read(head.path) or b"", head.name)]
        for other in unit.functions if unit is not None else ():
            if other.name != head.name and any_line_in(named, other.start_line, other.end_line):
                names.add(other.name)
    return {m: {n for n in names if not n.startswith("__")} for m, names in entries.items()}


def _tests_of(
    entries: dict[str, set[str]], change: ChangeSet, config: Config
) -> Iterator[tuple[SourceFile, Function]]:
    """Test functions that name an altered function, or are named after one (they may call it through a helper), in
    files that name its module; touched files first."""
    for path, names in islice(_test_files(entries, change, config), MOST_FILES):
        unit, data = change.unit(path), change.head.read(path) or b""
        lines = sorted({line for name in names for line, _ in find_word(data, name)})
        for function in unit.functions if unit is not None else ():
            if unit is None or not function.name.startswith("test"):
                continue
            after = any(name in function.name for name in names)
            if (
                after or any_line_in(lines, function.start_line, function.end_line)
            ) and function.clean:
                yield unit, function


def _test_files(
    entries: dict[str, set[str]], change: ChangeSet, config: Config
) -> Iterator[tuple[str, set[str]]]:
    """The files to look in, each with the altered functions that it names; a file is searched when its turn comes."""
    touched = {
        f.head_path for f in change.files if f.head_path and language(f.head_path) == "python"
    }
    tests = sorted(filter(config.is_test, touched))
    yield from ((path, names) for path in tests if (names := _named(entries, path, change)))
    found: dict[str, set[str]] = {}
    for module, names in entries.items():
        for path in change.head.paths_containing(module, "python"):
            if path not in touched and config.is_test(path):
                found.setdefault(path, set()).update(names)
    for path, names in sorted(found.items()):
        if named := {
            name for name in names if contains_word(change.head.read(path) or b"", name.encode())
        }:
            yield path, named


def _named(entries: dict[str, set[str]], path: str, change: ChangeSet) -> set[str]:
    """The altered functions that the file at `path` names, with their modules."""
    data = change.head.read(path) or b""
    names = (
        name
        for module, names in entries.items()
        if contains_word(data, module.encode())
        for name in names
    )
    return {name for name in names if contains_word(data, name.encode())}


def _finding(failure: Failure, run: _Run, unit: SourceFile, test: Function) -> Finding:
    place = _fixture_line(failure, run, unit)
    expression, value = _deciding(failure)
    at = Location(failure.where.path, failure.where.line)
    node = "::".join((unit.path, *test.qualname.split(".")))
    altered = _changed_line(failure, unit)
    evidence = PredictedFailure(
        test=node,
        fixture=place,
        expression=expression,
        value=value,
        exception=f"{failure.exception}: {failure.detail}" if failure.detail else failure.exception,
        raised_at=at,
        trace=tuple(f"{text}  # {shown}" for _, text, shown in failure.trace),
    )
    args = {
        "test": node, "exception": failure.exception, "at": at, "expression": expression, "value": value,
        "changed": Location(altered.path, altered.line),
    }  # fmt: skip
    return Finding(
        rule=ID,
        severity=Severity.BUG,
        confidence=Confidence.HIGH,
        location=place,
        message=Message("fails", args),
        symbol=test.qualname,
        subject=unit.text(place.start_line).strip(),
        evidence=(evidence,),
    )


def _fixture_line(failure: Failure, run: _Run, unit: SourceFile) -> Location:
    """The write in the test that the failing value came from: the most specific one, and of those the last."""
    order = {o: n for n, o in enumerate(run.stores)}
    writes = [o for o in failure.origins if o in run.stores and o.path == unit.path]
    if writes:
        best = max(writes, key=lambda o: (run.stores[o], order[o]))
        return Location(best.path, best.line)
    return Location(unit.path, failure.line)


def _deciding(failure: Failure) -> tuple[str, str]:
    """The last altered statement that the failing value came through, as `target = value`."""
    if not failure.trace:
        return failure.detail, ""
    _, text, value = failure.trace[-1]
    name, _, expression = text.partition("=")
    return (expression.strip() or text), f"{name.strip()} = {value}" if expression else value


def _changed_line(failure: Failure, unit: SourceFile) -> Origin:
    if failure.trace:
        return failure.trace[-1][0]
    product = sorted(o for o in failure.origins if o.path != unit.path)
    return product[-1] if product else failure.where
