"""A test calls an op with arguments that the op does not take.

## What it does

For every op whose registration, binding or C++ function the change touched, it looks at the calls
in tests and reports one with more arguments than the op has, or with a keyword that is not
registered. Ops of several hardware may share a name: a call counts for the op of the test's own
hardware, or for those that the conditions around it leave. A call that did not fit before the
change either is a suggestion.

## Why it matters

An op that loses an input keeps compiling, and its tests run on machines with the hardware only: the
`TypeError` comes after an hour of CI.

## Example

```python
adjust_batch(ids, offsets, 8)     # the change removed `offsets` from the op's inputs
```

## Known limits

Calls with `*args` and missing arguments are left out. Calls in product code are
`sync.op-call`'s.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet, FileChange
from checks.core.config import Config
from checks.core.finding import (
    Confidence,
    Finding,
    Location,
    Message,
    PredictedFailure,
    Related,
    Severity,
    Side,
)
from checks.domain.calls.names import nearest_imports
from checks.domain.calls.targets import CallTargets
from checks.domain.hardware_reach import is_excluded
from checks.domain.ops import OpInfo, Ops, calls_of, functions_calling
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.source import language

ID = "protocol.op-arguments"


@dataclass(frozen=True, slots=True)
class _OpsOfTest:
    """The ops that a test file may mean by one name: those of its own hardware, else all."""

    own_hardware: tuple[OpInfo, ...]
    all: tuple[OpInfo, ...]
    config: Config

    def under(self, guards: tuple[E.Expr, ...]) -> list[OpInfo]:
        """The ops that the conditions around a call leave.

        A test may ask which hardware it was built for and call the op of another one.
        """
        return self._not_excluded(self.own_hardware, guards) or self._not_excluded(self.all, guards)

    def _not_excluded(self, ops: tuple[OpInfo, ...], guards: tuple[E.Expr, ...]) -> list[OpInfo]:
        possible = []
        for op in ops:
            hardware = self.config.hardware_of(op.unit.path)
            if not is_excluded(guards, hardware, self.config):
                possible.append(op)
        return possible


@dataclass(frozen=True, slots=True)
class _WrongCall:
    """A call in the test `function` that does not fit `op`."""

    call: E.Call
    function: Function
    op: OpInfo


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One finding for each op and test file: its first wrong call, the others as related places."""
    ops = Ops.of(change)
    names: set[str] = set()
    for file in change.files:
        names.update(_touched_ops(file, change))
    for name in sorted(names):
        tests = [p for p in change.head.paths_containing(name, "python") if config.is_test(p)]
        infos = ops.named(name) if tests else ()
        # An op without parameters is one whose registration was not understood.
        if not infos or any(not info.params for info in infos):
            continue
        for path in tests:
            unit = change.unit(path)
            if unit is None:
                continue
            ops_of_test = _ops_of_test(path, infos, config)
            wrong = list(_wrong_calls(name, ops_of_test, unit, change))
            if wrong:
                yield _finding(wrong, ops_of_test, unit, change)


def _touched_ops(file: FileChange, change: ChangeSet) -> Iterator[str]:
    """The ops of a C++ file whose registration, binding or function the change touched."""
    if not file.head_path or language(file.head_path) != "cpp":
        return
    unit = change.unit(file.head_path)
    if unit is None:
        return
    touched_functions: set[str] = set()
    for function in unit.functions:
        if change.touches(unit.path, function.start_line, function.end_line):
            touched_functions.add(function.name)
    for op in unit.ops:
        if op.kernel in touched_functions or change.touches(unit.path, op.line, op.end_line):
            yield op.name
    for binding in unit.bindings:
        if change.touches(unit.path, binding.line, binding.end_line):
            yield binding.name


def _ops_of_test(path: str, infos: tuple[OpInfo, ...], config: Config) -> _OpsOfTest:
    hardware = config.hardware_of(path)
    own = tuple(info for info in infos if config.hardware_of(info.unit.path) == hardware)
    return _OpsOfTest(own or infos, infos, config)


def _wrong_calls(
    name: str, ops_of_test: _OpsOfTest, unit: SourceFile, change: ChangeSet
) -> Iterator[_WrongCall]:
    targets = CallTargets.of_change(change)
    for function in functions_calling(name, unit):
        for call, guards in calls_of(function.body):
            if call.func != E.Name(name) or E.starred(call):
                continue
            ops = ops_of_test.under(guards)
            if not ops or any(_fits(call, op) for op in ops):
                continue
            if not _is_imported_from_ops(name, call, function, unit):
                continue
            # What reaches a Python function of the same name is no call of the op.
            if targets.of(call, function, unit) is None:
                yield _WrongCall(call, function, ops[0])


def _fits(call: E.Call, op: OpInfo) -> bool:
    if len(call.args) + len(call.keywords) > len(op.params):
        return False
    return not _unknown_keywords(call, op)


def _unknown_keywords(call: E.Call, op: OpInfo) -> list[str]:
    return [keyword for keyword, _ in call.keywords if keyword not in op.params]


def _is_imported_from_ops(name: str, call: E.Call, function: Function, unit: SourceFile) -> bool:
    imports = nearest_imports(name, call.line, function, unit)
    return any("ops" in item.module.split(".") for item in imports)


def _finding(
    wrong: list[_WrongCall], ops_of_test: _OpsOfTest, unit: SourceFile, change: ChangeSet
) -> Finding:
    call, function, op = wrong[0].call, wrong[0].function, wrong[0].op
    place = Location(unit.path, call.line)
    node = "::".join((unit.path, *function.qualname.split(".")))
    given = len(call.args) + len(call.keywords)
    unknown = _unknown_keywords(call, op)
    was_wrong = _was_wrong_before(call, op.name, ops_of_test, unit, change)
    args = {
        "test": node,
        "op": op.name,
        "given": given,
        "wanted": len(op.params),
        "unknown": unknown,
        "older": was_wrong,
        "at": Location(op.unit.path, op.line),
    }
    evidence = PredictedFailure(
        test=node,
        fixture=place,
        expression=op.name,
        value=", ".join(unknown) or f"{given} != {len(op.params)}",
        exception="TypeError",
        raised_at=place,
    )
    others = [Location(unit.path, other.call.line) for other in wrong[1:]]
    return Finding(
        rule=ID,
        severity=Severity.SUGGESTION if was_wrong else Severity.BUG,
        confidence=Confidence.HIGH,
        location=place,
        message=Message("arguments", args),
        symbol=function.qualname,
        subject=op.name,
        evidence=(evidence,),
        related=tuple(Related(other, Message("arguments-too", {})) for other in others),
    )


def _was_wrong_before(
    call: E.Call, name: str, ops_of_test: _OpsOfTest, unit: SourceFile, change: ChangeSet
) -> bool:
    """Whether an untouched call did not fit the op of the base either."""
    if change.touches(unit.path, call.line, call.line):
        return False
    paths = {op.unit.path for op in ops_of_test.own_hardware}
    old = [op for op in Ops.of(change, Side.BASE).named(name) if op.unit.path in paths]
    return bool(old) and not any(_fits(call, op) for op in old)
