"""A function or op gives back another number of values than a caller takes apart.

## What it does

Finds assignments `a, b = f(...)` that take apart another number of values than the function, method
or device op returns: those that the change wrote, and those of what it altered. Where a method is
called through its base class, every subclass that may run instead is looked at.

## Why it matters

Since PaddlePaddle/FastDeploy@0f718baaf `pre_process` returns seven values; the runner of Metax
unpacked six, until e8e18cecc.

## Example

```python
return rows, lens, offsets, total         # the change: it was three

rows, lens, offsets = pre_process(x)      # another runner
```

## Known limits

Only functions of which every `return` gives the same number of values are known. What is called is
found as in `sync.missing-argument`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, Definition, Finding, Location, Message, Severity
from checks.domain.calls.returns import (
    Unpacking,
    WrongUnpacking,
    returned_count,
    unpackings_in,
    wrong_unpackings,
)
from checks.domain.calls.targets import CallTargets, called_name
from checks.domain.keys import calling_files
from checks.domain.ops import Ops, functions_calling
from checks.domain.source_search import code_line
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function
from checks.lang.ir.stmt import Return, guarded_statements
from checks.lang.source import language
from checks.rules.sync import unchecked_none
from checks.rules.sync._call_rules import ARGUMENT_RULES
from checks.rules.sync._line_priority import one_per_line

ID = "sync.return-arity"


@dataclass(frozen=True, slots=True)
class OpArity:
    """The C++ function of an op returns `now` values, and returned `before`."""

    function: Function
    before: int
    now: int


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One finding for each assignment that does not fit.

    Lines of which a rule about arguments speaks are left to it.
    """
    findings = [*_python_findings(change, config), *_op_findings(change, config)]
    yield from one_per_line(findings, change, config, (*ARGUMENT_RULES, unchecked_none))


def _python_findings(change: ChangeSet, config: Config) -> Iterator[Finding]:
    for wrong in wrong_unpackings(change, config):
        name = called_name(wrong.target.function)
        counts = wrong.was, wrong.now
        finding = _finding(name, wrong.unpacking, wrong.target.function, counts, change)
        yield _at_implementer(finding, wrong) if wrong.is_override else finding


def _at_implementer(finding: Finding, wrong: WrongUnpacking) -> Finding:
    """The same finding at the method that differs from the others of its name."""
    function = wrong.target.function
    place = Location(function.path, _last_return_line(function))
    args = {
        "name": function.qualname,
        "taken": wrong.unpacking.count,
        "now": wrong.now,
        "at": finding.location,
    }
    message = Message("implementer", args)
    return replace(finding, location=place, message=message, symbol=function.qualname)


def _op_findings(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """Unpackings of ops whose function returns another number of values than before."""
    for arity in _op_arities(change, config):
        for name in sorted({op.name for op in Ops.of(change).of_function(arity.function)}):
            for unpacking in _op_unpackings(name, change, config):
                if unpacking.count == arity.before:
                    counts = arity.before, arity.now
                    yield _finding(name, unpacking, arity.function, counts, change)


def _op_arities(change: ChangeSet, config: Config) -> Iterator[OpArity]:
    for base, head in change.changed_functions():
        if base is None or head is None or config.is_test(head.path):
            continue
        if language(head.path) != "cpp":
            continue
        before, now = returned_count(base), returned_count(head)
        if before is not None and now is not None and before != now:
            yield OpArity(head, before, now)


def _op_unpackings(name: str, change: ChangeSet, config: Config) -> Iterator[Unpacking]:
    """`a, b = name(...)` in the product where no Python function of that name is meant.

    An op may have a twin on other hardware that returns another number: only who took the old one
    is known to call this one.
    """
    targets = CallTargets.of_change(change)
    for path in calling_files(name, change, config):
        unit = change.unit(path)
        if unit is None:
            continue
        for function in functions_calling(name, unit):
            for unpacking in unpackings_in(function, unit):
                call = unpacking.site.call
                if E.callee(call) == name and targets.of(call, function, unit) is None:
                    yield unpacking


def _finding(
    name: str,
    unpacking: Unpacking,
    function: Function,
    counts: tuple[int | None, int],
    change: ChangeSet,
) -> Finding:
    was, now = counts
    place = Location(function.path, _last_return_line(function))
    code = code_line(change.unit(place.path), place.start_line)
    return Finding.at(
        ID,
        Location(unpacking.site.unit.path, unpacking.line),
        "unpacked" if was is not None else "unpacked-new",
        severity=Severity.BUG,
        confidence=Confidence.HIGH,
        symbol=unpacking.site.function.qualname,
        subject=f"{name} {now}",
        name=name,
        taken=unpacking.count,
        now=now,
        was=was or 0,
        at=place,
    ).with_evidence(Definition(name, place, str(now), code))


def _last_return_line(function: Function) -> int:
    line = function.start_line
    for guarded in guarded_statements(function.body):
        if isinstance(guarded.stmt, Return):
            line = guarded.stmt.line
    return line
