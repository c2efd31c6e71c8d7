"""A test still writes the form that the code no longer reads.

## What it does

For every Python function whose body the change altered, it finds the tests that call it, follows
each test from its set-up into the new code with exact values where the code determines them, and
reports a test that certainly raises an exception it did not raise with the old code, when the value
that leads to it came through an altered line. The finding stands on the fixture's write; the
evidence names the test, the expression with its value and the line that raises.

Where the new form is a packed word whose upper field cuts rows of a fixed width, the fix writes the
value that takes the whole row, `flag | ((K + 1) << 8)`: the test was followed with it, the reader
takes out that width and the same flag, and the failure is gone.

## Why it matters

PaddlePaddle/FastDeploy#7884 began to read `meta[1]` as a packed word. Five fixtures still wrote the
bare message flag, so `actual_topk` became 0 and four tests failed an hour later in CI with
`IndexError`.

## Example

```python
mtype = packed & 0xFF
topk = packed >> 8            # the change
rows = tokens[:, :topk]

processor.output_tokens[1] = 3    # the old form: topk is 0, and rows[0][0] raises IndexError
```

## Known limits

A test that the change brings is left alone: its author wrote it for the new code, and saw it run.
Only what the code determines is followed: a value from a foreign library, a mock or a branch on
something unknown ends the prediction, without a finding. Generators, coroutines and decorated
helpers are not entered.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import (
    Confidence,
    Finding,
    Fix,
    Location,
    Message,
    PredictedFailure,
    Severity,
    Side,
)
from checks.eval.interpreter.frames import CertainFailure
from checks.eval.interpreter.machine import TestInterpreter
from checks.eval.interpreter.modules import Modules
from checks.eval.interpreter.program import PatchedModules
from checks.eval.interpreter.values import BudgetExceeded, SimulatedException, ValueOrigin
from checks.lang.ir.source_file import Function, SourceFile
from checks.rules.protocol._packed_fixture import PackedFixture, packed_fixture
from checks.rules.protocol._tests_of_change import tests_of_change
from checks.rules.protocol._word_findings import touched_word_uses

ID = "protocol.stale-fixture"

# How many expressions may be evaluated for all tests of a change together, and for one of them.
_BUDGET = 150_000
_BUDGET_OF_TEST = 60_000


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One finding for each statement of a test that fails now and did not before."""
    budget = _BUDGET
    for unit, test in tests_of_change(change, config):
        if not _was_there(test, change):
            continue
        head = _interpret(unit, test, change, config, Side.HEAD, budget)
        budget -= head.spent
        failures = [f for f in head.failures if _came_through_product(f, change, config)]
        if failures:
            base = _interpret(unit, test, change, config, Side.BASE, budget)
            budget -= base.spent
            failures = _new_failures(failures, base)
        for failure in failures:
            finding = _finding(failure, failures[0], head, unit, test)
            finding = _with_senders(finding, change, config)
            proposal = packed_fixture(failure, finding.location, change)
            if proposal is not None and _is_mended(proposal, failure, head, test, change, config):
                finding = _with_proposal(finding, proposal)
            yield finding
        if budget <= 0:
            return


class _TestRun:
    """What following one test gave; `spent` is the number of expressions that it took."""

    def __init__(self, machine: TestInterpreter, spent: int) -> None:
        self.failures = machine.failures
        self.stores = machine.stores
        self.reached = machine.reached
        self.trace = machine.trace
        self.spent = spent

    def values_at(self, origin: ValueOrigin) -> list[str]:
        """What the altered statement there was seen to set, in order."""
        return [value for line, _, value in self.trace if line == origin]


def _interpret(
    unit: SourceFile, test: Function, change: ChangeSet, config: Config, side: Side, budget: int
) -> _TestRun:
    """Follow `test`, as it is in the head, into the product code of `side`."""

    def module(path: str) -> SourceFile | None:
        if config.is_test(path):
            return change.unit(path, Side.HEAD)
        return change.unit(path, side)

    def is_altered(path: str, start: int, end: int) -> bool:
        return side is Side.HEAD and change.touches(path, start, end)

    limit = min(budget, _BUDGET_OF_TEST)
    modules = change.memo((ID, side), lambda: Modules(module))
    machine = TestInterpreter(PatchedModules(modules), is_altered, config.is_test, limit)
    try:
        machine.run(test, unit)
    except (BudgetExceeded, RecursionError, SimulatedException):
        # `Raised` comes here from where no test could catch it, in the set-up of a patch: then the
        # test is not understood, and nothing may be said of it.
        machine.failures.clear()
    return _TestRun(machine, limit - machine.budget)


def _was_there(test: Function, change: ChangeSet) -> bool:
    """Whether the base has this test: one that the change brings was written for the new code."""
    unit = change.unit(test.path, Side.BASE)
    return unit is not None and test.qualname in unit.functions_named


def _came_through_product(failure: CertainFailure, change: ChangeSet, config: Config) -> bool:
    """Whether the failing value came through an altered line of a product file that the base has:
    without one, nothing is known of how the test went."""
    for origin in failure.origins:
        if not config.is_test(origin.path) and change.unit(origin.path, Side.BASE) is not None:
            return True
    return False


def _new_failures(failures: list[CertainFailure], base: _TestRun) -> list[CertainFailure]:
    """Failures of statements that ran with the old code, and did not fail like this there."""
    old = {(failure.exception, failure.line) for failure in base.failures}
    new = []
    for failure in failures:
        if (failure.exception, failure.line) not in old and failure.line in base.reached:
            new.append(failure)
    return new


def _is_mended(
    proposal: PackedFixture,
    failure: CertainFailure,
    before: _TestRun,
    test: Function,
    change: ChangeSet,
    config: Config,
) -> bool:
    """Whether the test, followed with the edit made, takes the value out and fails there no more.

    What else the reader takes out of the word has to stay as it was, and nothing else may fail.
    """
    if not test.start_line <= proposal.edit.start_line <= test.end_line:
        return False  # other tests share the line, and were not followed with the edit
    edited = change.with_files(proposal.edited_file(change))
    unit = edited.unit(proposal.edit.path)
    same = [f for f in unit.functions if f.start_line == test.start_line] if unit else []
    if unit is None or not same:
        return False
    after = _interpret(unit, same[0], edited, config, Side.HEAD, _BUDGET_OF_TEST)
    taken = after.values_at(proposal.high)
    if str(proposal.value) not in taken or failure.line not in after.reached:
        return False
    if before.values_at(proposal.low) != after.values_at(proposal.low):
        return False
    old_lines = {other.line for other in before.failures} - {failure.line}
    return {other.line for other in after.failures} <= old_lines


def _with_senders(finding: Finding, change: ChangeSet, config: Config) -> Finding:
    """The finding with the places that pack the word which the changed line reads."""
    changed = finding.message.args["changed"]
    senders = [
        use.sender.location
        for use in touched_word_uses(change, config)
        if Location(use.reader.unit.path, use.reader.line) == changed
    ]
    args = {**finding.message.args, "senders": senders}
    return replace(finding, message=Message("fails", args))


def _with_proposal(finding: Finding, proposal: PackedFixture) -> Finding:
    """The finding with the value that the fixture should have, and the edit that writes it."""
    args = {
        **finding.message.args,
        "written": proposal.text,
        "then": f"{proposal.target} = {proposal.value}",
    }
    message = Message("fails", args)
    return replace(finding, message=message, fix=Fix((proposal.edit,), verified=True))


def _finding(
    failure: CertainFailure,
    first: CertainFailure,
    run: _TestRun,
    unit: SourceFile,
    test: Function,
) -> Finding:
    """The finding of a failure; `first` is where the test fails before it comes to others."""
    fixture = _fixture_line(failure, run, unit)
    expression, value = _deciding_statement(failure)
    raised_at = Location(failure.where.path, failure.where.line)
    changed = _changed_line(failure, unit)
    node = "::".join((unit.path, *test.qualname.split(".")))
    exception = failure.exception
    if failure.detail:
        exception = f"{failure.exception}: {failure.detail}"
    evidence = PredictedFailure(
        test=node,
        fixture=fixture,
        expression=expression,
        value=value,
        exception=exception,
        raised_at=raised_at,
        trace=tuple(f"{text}  # {shown}" for _, text, shown in failure.trace),
    )
    args = {
        "test": node,
        "exception": failure.exception,
        "at": raised_at,
        "expression": expression,
        "value": value,
        "changed": Location(changed.path, changed.line),
        # What the fixture should write, and what the test gets then, where that is known.
        "written": "",
        "then": "",
        "behind": _fixture_line(first, run, unit).start_line if failure is not first else 0,
    }
    return Finding(
        rule=ID,
        severity=Severity.BUG,
        confidence=Confidence.HIGH,
        location=fixture,
        message=Message("fails", args),
        symbol=test.qualname,
        subject=unit.excerpt(fixture.start_line),
        evidence=(evidence,),
    )


def _fixture_line(failure: CertainFailure, run: _TestRun, unit: SourceFile) -> Location:
    """The write in the test that the failing value came from.

    An element says more than an attribute, and of two writes of one kind the later one counts.
    """
    # `stores` has the lines in the order of their last write, with 1 for an attribute and 2 for an
    # element.
    best: ValueOrigin | None = None
    for line, kind in run.stores.items():
        if line not in failure.origins or line.path != unit.path:
            continue
        if best is None or kind >= run.stores[best]:
            best = line
    if best is None:
        return Location(unit.path, failure.line)
    return Location(best.path, best.line)


def _deciding_statement(failure: CertainFailure) -> tuple[str, str]:
    """The last altered statement that the failing value came through: its expression, and
    `target = value`."""
    if not failure.trace:
        return failure.detail, ""
    _, text, value = failure.trace[-1]
    target, _, expression = text.partition("=")
    if not expression:
        return text, value
    return expression.strip() or text, f"{target.strip()} = {value}"


def _changed_line(failure: CertainFailure, unit: SourceFile) -> ValueOrigin:
    """The altered line of the product that the failing value came through last."""
    if failure.trace:
        return failure.trace[-1][0]
    product = sorted(origin for origin in failure.origins if origin.path != unit.path)
    return product[-1] if product else failure.where
