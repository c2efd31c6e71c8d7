"""How many values a function or op gives back, and callers that take apart another number of them."""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, Definition, Finding, Location, Message, Severity
from checks.domain.call_targets import Targets, called
from checks.domain.keys import calling_files
from checks.domain.ops import Ops, callers
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Assign, Return, guarded_statements
from checks.lang.source import language


def unpacked(change: ChangeSet, config: Config, rule: str) -> Iterator[Finding]:
    """Assignments that unpack what a function returned before this change gave it another number of values."""
    targets, ops = Targets.of_change(change), Ops.of(change)
    for old, head in change.changed_functions():
        if old is None or head is None or config.is_test(head.path):
            continue
        now = _values(head)
        was = _values(old) if now is not None else None
        if was is None or now is None or was == now:
            continue
        python = language(head.path) == "python"
        names = {called(head)} if python else {o.name for o in ops.of_function(head)}
        for name in sorted(names):
            for stmt, call, function, unit in _unpacking(name, change, config):
                assert isinstance(stmt.target, E.Sequence)
                target = targets.of(call, function, unit)
                reached = (
                    target is not None and target.function == head if python else target is None
                )
                if (
                    not reached
                    or len(stmt.target.items) == now
                    or (not python and len(stmt.target.items) != was)
                ):
                    continue
                yield _finding(name, stmt, (was, now), function, head, unit, change, rule)


def _values(function: Function) -> int | None:
    """How many values every `return` of `function` gives, None where that is not the same number or not known."""
    counts: set[int | None] = set()
    for guarded in guarded_statements(function.body):
        if isinstance(guarded.stmt, Return):
            counts.add(_items(guarded.stmt.value))
    return counts.pop() if len(counts) == 1 else None


def _items(value: E.Expr | None) -> int | None:
    if not isinstance(value, E.Sequence) or any(
        isinstance(i, E.Unary) and i.op == "*" for i in value.items
    ):
        return None
    return len(value.items) if len(value.items) > 1 else None


def _unpacking(
    name: str, change: ChangeSet, config: Config
) -> Iterator[tuple[Assign, E.Call, Function, SourceFile]]:
    """`a, b = name(...)`, in the product."""
    for path in calling_files(name, change, config):
        unit = change.unit(path)
        for function in callers(name, unit) if unit is not None else ():
            for guarded in guarded_statements(function.body):
                stmt = guarded.stmt
                if (
                    unit is None
                    or not isinstance(stmt, Assign)
                    or not isinstance(stmt.target, E.Sequence)
                ):
                    continue
                starred = any(isinstance(i, E.Unary) for i in stmt.target.items)
                if isinstance(stmt.value, E.Call) and E.callee(stmt.value) == name and not starred:
                    yield stmt, stmt.value, function, unit


def _finding(
    name: str,
    stmt: Assign,
    counts: tuple[int, int],
    function: Function,
    head: Function,
    unit: SourceFile,
    change: ChangeSet,
    rule: str,
) -> Finding:
    assert isinstance(stmt.target, E.Sequence)
    home = change.unit(head.path)
    returns = [g.stmt for g in guarded_statements(head.body) if isinstance(g.stmt, Return)]
    place = Location(head.path, returns[-1].line)
    args = {
        "name": name,
        "taken": len(stmt.target.items),
        "now": counts[1],
        "was": counts[0],
        "at": place,
    }
    return Finding(
        rule=rule,
        severity=Severity.BUG,
        confidence=Confidence.HIGH,
        location=Location(unit.path, stmt.line),
        message=Message("unpacked", args),
        symbol=function.qualname,
        subject=f"{name} {counts[1]}",
        evidence=(
            Definition(
                name, place, str(counts[1]), home.text(place.start_line).strip() if home else ""
            ),
        ),
    )
