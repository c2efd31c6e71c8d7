"""The real lengths of padded rows are dropped, and counted again on the padded rows.

## What it does

Finds `rows, _ = f(...)` on lines of the change, or before them, behind which `len(row) for row in
rows` is taken, where `f` pads what it returns and returns the lengths beside it.

## Why it matters

All padded rows are equally long. PaddlePaddle/FastDeploy#5399 took the length of stop sequences
after padding, so the shorter ones never matched.

## Example

```python
rows, _ = pad(sequences)                    # returns (rows, lengths)
lengths = [len(row) for row in rows]        # all the same now
```

## Known limits

That a function pads is told from its text, and that it returns lengths from the name of what it
returns second.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction, changed_functions
from checks.core.config import Config
from checks.core.finding import Confidence, Definition, Finding, Location, Message, Severity
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Assign, ExprStmt, Return, Stmt, guarded_statements
from checks.lang.source import language
from checks.rules.kernel._code_walks import calls_in_file

ID = "kernel.dropped-lengths"
_LENGTH = re.compile(r"(?:^|_)(?:lens?|lengths?|nums?|sizes?|counts?)(?:_|$)")
_PADS = re.compile(r"\bpad\w*\b|\bpad_", re.IGNORECASE)
# How many files are asked what they pass for a parameter that is called.
_MOST_FILES = 4


@dataclass(frozen=True, slots=True)
class PaddingFunction:
    """A function that returns padded rows and, at `line`, their lengths."""

    name: str
    unit: SourceFile
    line: int


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    for changed in changed_functions(change, config):
        if changed.python:
            yield from _dropped_lengths(changed, change, config)


def _dropped_lengths(
    changed: ChangedFunction, change: ChangeSet, config: Config
) -> Iterator[Finding]:
    for guarded in changed.statements:
        stmt = guarded.stmt
        if not isinstance(stmt, Assign) or not isinstance(stmt.value, E.Call):
            continue
        match stmt.target:
            case E.Sequence(items=(E.Name(id=rows), E.Name(id="_"))):
                counted = _counted_line(rows, stmt.line, changed)
            case _:
                continue
        if counted is None:
            continue
        # Either half of the mistake may be the new one.
        if not changed.touched(stmt.line, stmt.end_line) and not changed.touched(counted):
            continue
        source = _padding_function(stmt.value, changed, change, config)
        if source is not None:
            yield _finding(rows, stmt, counted, source, changed)


def _counted_line(rows: str, after: int, changed: ChangedFunction) -> int | None:
    """The line where the lengths of `rows`, or of the list that they went into, are counted."""
    holders = {rows}
    for guarded in changed.statements:
        stmt = guarded.stmt
        if stmt.line < after:
            continue
        if isinstance(stmt, Assign) and stmt.value is not None:
            line = _lengths_line(stmt.value, holders)
            if line is not None:
                return line
            if stmt.line == after:
                continue
        new_holder = _new_holder(stmt, holders)
        if new_holder:
            holders.add(new_holder)
    return None


def _new_holder(stmt: Stmt, holders: set[str]) -> str:
    """The local that a statement puts the rows into; empty where it does not."""
    match stmt:
        case ExprStmt(
            value=E.Call(func=E.Attr(base=E.Name(id=into), name="extend" | "append"), args=(given,))
        ):
            return into if E.names(given) & holders else ""
        case Assign(target=E.Name(id=into), value=E.Name() | E.Binary() as value):
            return into if E.names(value) & holders else ""
    return ""


def _lengths_line(value: E.Expr, holders: set[str]) -> int | None:
    """The line of `len(row) for row in rows` in an expression."""
    for e in E.walk(value):
        if not isinstance(e, E.Comprehension) or len(e.clauses) != 1:
            continue
        target, iterable, _ = e.clauses[0]
        if not isinstance(iterable, E.Name) or iterable.id not in holders:
            continue
        element = e.element
        if not isinstance(element, E.Call) or E.callee(element) != "len":
            continue
        if element.args == (target,):
            return e.line or value.line
    return None


def _padding_function(
    call: E.Call, changed: ChangedFunction, change: ChangeSet, config: Config
) -> PaddingFunction | None:
    """The function behind `call` that pads and returns lengths.

    Where the call is of a parameter, what the callers pass for it.
    """
    name = E.callee(call)
    candidates = {name}
    if isinstance(call.func, E.Name) and name in {p.name for p in changed.head.params}:
        candidates = _passed_functions(name, changed, change, config)
    for candidate in sorted(candidates):
        for path in sorted(_defining_files(candidate, change)):
            unit = change.unit(path) if not config.is_test(path) else None
            if unit is None:
                continue
            for function in unit.named(candidate):
                returned = _returned_lengths(function)
                if returned is not None and _PADS.search(unit.text_of(function)):
                    return PaddingFunction(function.name, unit, returned.line)
    return None


def _defining_files(function: str, change: ChangeSet) -> set[str]:
    start = f"def {function}("
    return {hit.path for hit in change.head.find(function) if hit.text.lstrip().startswith(start)}


def _passed_functions(
    param: str, changed: ChangedFunction, change: ChangeSet, config: Config
) -> set[str]:
    """The names of what callers pass for `param`."""
    head = changed.head
    place = [p.name for p in head.params].index(param)
    paths: set[str] = set()
    for hit in change.head.find(head.name):
        if language(hit.path) == "python" and not config.is_test(hit.path):
            paths.add(hit.path)
    found: set[str] = set()
    for path in sorted(paths)[:_MOST_FILES]:
        unit = change.unit(path)
        if unit is None:
            continue
        for _, call, _ in calls_in_file(head.name, unit):
            if place < len(call.args):
                found.add(_function_name(call.args[place]))
    return found - {""}


def _function_name(expr: E.Expr) -> str:
    return expr.name if isinstance(expr, E.Attr) else E.dotted(expr) or ""


def _returned_lengths(function: Function) -> Return | None:
    """The first statement that returns two things, the second of them lengths by its name."""
    for guarded in guarded_statements(function.body):
        stmt = guarded.stmt
        match stmt:
            case Return(value=E.Sequence(items=(_, E.Name(id=second)))):
                if _LENGTH.search(second):
                    return stmt
    return None


def _finding(
    rows: str, stmt: Assign, counted: int, source: PaddingFunction, changed: ChangedFunction
) -> Finding:
    place = Location(source.unit.path, source.line)
    text = source.unit.excerpt(source.line)
    args = {"rows": rows, "function": source.name, "at": place, "line": stmt.line}
    return Finding(
        rule=ID,
        severity=Severity.BUG,
        confidence=Confidence.HIGH,
        location=Location(changed.unit.path, counted),
        message=Message("lengths", args),
        symbol=changed.head.qualname,
        subject=f"{rows} {source.name}",
        evidence=(Definition(source.name, place, text),),
    )
