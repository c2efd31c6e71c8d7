"""A function or op gives back another number of values than a caller takes apart.

## What it does

Finds Python functions and device ops that return another number of values since this change, and
assignments `a, b = f(...)` that still take apart another number.

## Why it matters

Since PaddlePaddle/FastDeploy@0f718baaf `pre_process` returns seven values; the runner of Metax
unpacked six, until e8e18cecc.

## Example

```python
return rows, lens, offsets, total         # the change: it was three

rows, lens, offsets = pre_process(x)      # another runner
```

## Known limits

Only functions of which every `return` gives the same number of values are known. A call is followed
by name as in `sync.signature`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, Definition, Finding, Location, Message, Severity
from checks.domain.call_targets import CallTargets, called_name
from checks.domain.keys import calling_files
from checks.domain.ops import Ops, functions_calling
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Assign, Return, guarded_statements
from checks.lang.source import language
from checks.rules.sync import signature, unchecked_none
from checks.rules.sync._line_priority import one_per_line
from checks.rules.sync._source import code_line

ID = "sync.return-arity"


@dataclass(frozen=True, slots=True)
class ArityChange:
    """`function` returns `now` values, and returned `before`."""

    function: Function
    before: int
    now: int


@dataclass(frozen=True, slots=True)
class Unpacking:
    """`a, b = call`, which takes `count` values apart."""

    call: E.Call
    count: int
    line: int
    function: Function
    unit: SourceFile


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One finding for each assignment that does not fit.

    Lines of which `signature` or `unchecked_none` speaks are left to them.
    """
    findings = _findings(change, config)
    yield from one_per_line(findings, change, config, (signature, unchecked_none))


def _findings(change: ChangeSet, config: Config) -> Iterator[Finding]:
    for arity in _arity_changes(change, config):
        for name in _names_to_call(arity.function, change):
            for unpacking in _unpackings(name, change, config):
                if _certainly_fails(unpacking, arity, change):
                    yield _finding(name, unpacking, arity, change)


def _arity_changes(change: ChangeSet, config: Config) -> Iterator[ArityChange]:
    for base, head in change.changed_functions():
        if base is None or head is None or config.is_test(head.path):
            continue
        before = _returned_values(base)
        now = _returned_values(head)
        if before is None or now is None:
            continue
        if before != now:
            yield ArityChange(head, before, now)


def _returned_values(function: Function) -> int | None:
    """How many values every `return` of `function` gives.

    None where that is not the same number or not known.
    """
    counts: set[int | None] = set()
    for guarded in guarded_statements(function.body):
        if isinstance(guarded.stmt, Return):
            counts.add(_count_values(guarded.stmt.value))
    return counts.pop() if len(counts) == 1 else None


def _count_values(value: E.Expr | None) -> int | None:
    """2 for `a, b`; None for anything else than two values or more, all of them written out."""
    if not isinstance(value, E.Sequence) or len(value.items) < 2:
        return None
    if any(isinstance(item, E.Unary) and item.op == "*" for item in value.items):
        return None
    return len(value.items)


def _names_to_call(function: Function, change: ChangeSet) -> list[str]:
    """What Python calls the function: its own name, or those of the ops that it is behind."""
    if language(function.path) == "python":
        return [called_name(function)]
    return sorted({op.name for op in Ops.of(change).of_function(function)})


def _unpackings(name: str, change: ChangeSet, config: Config) -> Iterator[Unpacking]:
    """`a, b = name(...)` in the product; without `a, *rest = ...`, which takes any number."""
    for path in calling_files(name, change, config):
        unit = change.unit(path)
        if unit is None:
            continue
        for function in functions_calling(name, unit):
            for guarded in guarded_statements(function.body):
                match guarded.stmt:
                    case Assign(target=E.Sequence(items=items), value=E.Call() as call):
                        is_starred = any(isinstance(item, E.Unary) for item in items)
                        if E.callee(call) == name and not is_starred:
                            line = guarded.stmt.line
                            yield Unpacking(call, len(items), line, function, unit)
                    case _:
                        pass


def _certainly_fails(unpacking: Unpacking, arity: ArityChange, change: ChangeSet) -> bool:
    """Whether the assignment takes apart another number of values than the function returns."""
    if unpacking.count == arity.now:
        return False
    target = CallTargets.of_change(change).of(unpacking.call, unpacking.function, unpacking.unit)
    if language(arity.function.path) == "python":
        return target is not None and target.function == arity.function
    # An op may have a twin on other hardware that returns another number: only who took the old one
    # is known to call this one.
    return target is None and unpacking.count == arity.before


def _finding(name: str, unpacking: Unpacking, arity: ArityChange, change: ChangeSet) -> Finding:
    place = Location(arity.function.path, _last_return_line(arity.function))
    args = {
        "name": name,
        "taken": unpacking.count,
        "now": arity.now,
        "was": arity.before,
        "at": place,
    }
    code = code_line(change.unit(place.path), place.start_line)
    return Finding(
        rule=ID,
        severity=Severity.BUG,
        confidence=Confidence.HIGH,
        location=Location(unpacking.unit.path, unpacking.line),
        message=Message("unpacked", args),
        symbol=unpacking.function.qualname,
        subject=f"{name} {arity.now}",
        evidence=(Definition(name, place, str(arity.now), code),),
    )


def _last_return_line(function: Function) -> int:
    line = function.start_line
    for guarded in guarded_statements(function.body):
        if isinstance(guarded.stmt, Return):
            line = guarded.stmt.line
    return line
