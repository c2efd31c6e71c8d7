"""Lengths that a function returned with its padded rows, dropped and counted again on the padded rows."""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction
from checks.core.config import Config
from checks.core.finding import Confidence, Definition, Finding, Location, Message, Severity
from checks.core.tree import word_regex
from checks.domain.ops import calls_of
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Assign, ExprStmt, Return, guarded_statements
from checks.lang.source import language

_LENGTH = re.compile(r"(?:^|_)(?:lens?|lengths?|nums?|sizes?|counts?)(?:_|$)")
_DROPS = re.compile(rf"{word_regex('_')}\b")
_PADS = re.compile(r"\bpad\w*\b|\bpad_", re.IGNORECASE)


def dropped(
    delta: ChangedFunction, change: ChangeSet, config: Config, rule: str
) -> Iterator[Finding]:
    """Findings for `rows, _ = f(...)` behind which `len(row) for row in rows` is taken."""
    if not _DROPS.search(delta.text):
        return
    for guarded in delta.statements:
        stmt = guarded.stmt
        if not isinstance(stmt, Assign) or not isinstance(stmt.value, E.Call):
            continue
        match stmt.target:
            case E.Sequence(items=(E.Name(id=rows), E.Name(id="_"))):
                pass
            case _:
                continue
        again = _counted(rows, stmt.line, delta)
        if again is None or not (delta.touched(stmt.line, stmt.end_line) or delta.touched(again)):
            continue
        source = _source(stmt.value, delta, change, config)
        if source is not None:
            yield _finding(rule, rows, stmt, again, source, delta)


def _counted(rows: str, after: int, delta: ChangedFunction) -> int | None:
    """The line where the lengths of `rows`, or of the list that they went into, are counted."""
    holders = {rows}
    for guarded in delta.statements:
        stmt = guarded.stmt
        if stmt.line < after:
            continue
        match stmt:
            case ExprStmt(
                value=E.Call(
                    func=E.Attr(base=E.Name(id=into), name="extend" | "append"), args=(given,)
                )
            ):
                if E.names(given) & holders:
                    holders.add(into)
            case Assign(target=E.Name(id=into), value=value) if (
                value is not None and stmt.line > after
            ):
                line = _lengths_of(value, holders)
                if line is not None:
                    return line
                if isinstance(value, E.Name | E.Binary) and E.names(value) & holders:
                    holders.add(into)
            case Assign(value=value) if (
                value is not None and (line := _lengths_of(value, holders)) is not None
            ):
                return line
    return None


def _lengths_of(value: E.Expr, holders: set[str]) -> int | None:
    for e in E.walk(value):
        if not isinstance(e, E.Comprehension) or len(e.clauses) != 1:
            continue
        target, iterable, _ = e.clauses[0]
        inner = e.element
        counts = isinstance(inner, E.Call) and E.callee(inner) == "len" and inner.args == (target,)
        if counts and isinstance(iterable, E.Name) and iterable.id in holders:
            return e.line or value.line
    return None


def _source(
    call: E.Call, delta: ChangedFunction, change: ChangeSet, config: Config
) -> tuple[Function, SourceFile, Return] | None:
    """The function behind `call` (or behind the parameter that is called) that pads and returns lengths."""
    name = E.callee(call)
    wanted = {name}
    if isinstance(call.func, E.Name) and name in {p.name for p in delta.head.params}:
        wanted = _passed(name, delta, change, config)
    for word in sorted(wanted):
        paths = {
            h.path for h in change.head.find(word) if h.text.lstrip().startswith(f"def {word}(")
        }
        for path in sorted(paths):
            unit = change.unit(path) if not config.is_test(path) else None
            for function in unit.named(word) if unit is not None else ():
                back = _returns_lengths(function)
                if unit is not None and back is not None and _PADS.search(_text(unit, function)):
                    return function, unit, back
    return None


def _text(unit: SourceFile, function: Function) -> str:
    return unit.text(function.start_line, function.end_line)


def _passed(param: str, delta: ChangedFunction, change: ChangeSet, config: Config) -> set[str]:
    """The names of what callers pass for `param`."""
    head = delta.head
    place = [p.name for p in head.params].index(param)
    found: set[str] = set()
    hits = change.head.find(head.name)
    for path in sorted(
        {h.path for h in hits if language(h.path) == "python" and not config.is_test(h.path)}
    )[:4]:
        unit = change.unit(path)
        for function in unit.functions if unit is not None else ():
            if unit is None or head.name not in _text(unit, function):
                continue
            for call, _ in calls_of(function.body):
                if E.callee(call) == head.name and place < len(call.args):
                    given = call.args[place]
                    found.add(given.name if isinstance(given, E.Attr) else E.dotted(given) or "")
    return found - {""}


def _returns_lengths(function: Function) -> Return | None:
    for guarded in guarded_statements(function.body):
        match guarded.stmt:
            case Return(value=E.Sequence(items=(_, E.Name(id=second)))) if _LENGTH.search(second):
                return guarded.stmt
    return None


def _finding(
    rule: str,
    rows: str,
    stmt: Assign,
    again: int,
    source: tuple[Function, SourceFile, Return],
    delta: ChangedFunction,
) -> Finding:
    function, unit, back = source
    at = Location(unit.path, back.line)
    return Finding(
        rule=rule,
        severity=Severity.BUG,
        confidence=Confidence.HIGH,
        location=Location(delta.unit.path, again),
        message=Message(
            "lengths", {"rows": rows, "function": function.name, "at": at, "line": stmt.line}
        ),
        symbol=delta.head.qualname,
        subject=f"{rows} {function.name}",
        evidence=(Definition(function.name, at, unit.text(back.line).strip()),),
    )
