"""Keys that lost their writer: still read, or written on one branch only."""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Message, Severity, Step
from checks.domain.keys import (
    Use,
    asks_platform,
    changed_python,
    looked_for,
    product_files,
    sets_somehow,
    uses,
)
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import ExprStmt, guarded_statements

MAKES = frozenset(
    {
        "full",
        "zeros",
        "ones",
        "empty",
        "full_like",
        "zeros_like",
        "ones_like",
        "empty_like",
        "clone",
    }
)


def removed(change: ChangeSet, config: Config, rule: str) -> Iterator[Finding]:
    """A key that was put into a dict or batch before this change, is put there nowhere now, and is still taken out."""
    lost: dict[str, set[str]] = {}
    for old, unit in changed_python(change, config):
        if old is not None:
            text = "\n".join(unit.lines)
            for use in _set_keys(old, change):
                if use.holder != "self" and not sets_somehow(use.key, text):
                    lost.setdefault(use.key, set()).add(use.holder)
    for key, holders in sorted(lost.items()):
        hits = [
            h
            for h in change.head.find(key, "python")
            if h.path.endswith(".py") and not config.is_test(h.path)
        ]
        if hits and not any(sets_somehow(key, h.text) for h in hits):
            yield from _still_read(key, holders, sorted({h.path for h in hits}), change, rule)


def _set_keys(unit: SourceFile, change: ChangeSet) -> Iterator[Use]:
    gone = change.memo(_set_keys, lambda: _gone(change)).get(unit.path, set())
    for function in unit.functions:
        if not gone.isdisjoint(range(function.start_line, function.end_line + 1)):
            yield from (u for u in uses(function) if u.sets and u.line in gone)


def _gone(change: ChangeSet) -> dict[str, set[int]]:
    """The lines of each file of the base that the change removed."""
    lines: dict[str, set[int]] = {}
    for file in change.files:
        if file.base_path is not None:
            lines.setdefault(file.base_path, set()).update(file.base_lines())
    return lines


def _still_read(
    key: str, holders: set[str], paths: list[str], change: ChangeSet, rule: str
) -> Iterator[Finding]:
    found: list[tuple[Use, Function, SourceFile]] = []
    for path in paths:
        unit = change.unit(path)
        for function in unit.functions if unit is not None else ():
            if unit is not None and key in unit.text(function.start_line, function.end_line):
                reads = [
                    u
                    for u in uses(function)
                    if u.key == key and u.holder in holders and not looked_for(u)
                ]
                found += [
                    (u, function, unit) for u in reads if unit.function_at(u.line) is function
                ]
    if found:
        use, function, unit = found[0]
        yield Finding(
            rule=rule,
            severity=Severity.BUG,
            confidence=Confidence.HIGH,
            location=Location(unit.path, use.line),
            message=Message("removed", {"key": key, "holder": use.holder, "more": len(found) - 1}),
            symbol=function.qualname,
            subject=f"{use.holder} {key}",
            evidence=tuple(_step(u, t, Message("read-here")) for u, _, t in found),
        )


def _step(use: Use, unit: SourceFile, conclusion: Message) -> Step:
    return Step(Location(unit.path, use.line), unit.lines[use.line - 1].strip(), conclusion)


def one_branch(change: ChangeSet, config: Config, rule: str) -> Iterator[Finding]:
    """A key that a function no longer sets itself: a call on one branch fills it, and it is read after both."""
    for old, head in change.changed_functions():
        if (
            old is None
            or head is None
            or not head.path.endswith(".py")
            or config.is_test(head.path)
        ):
            continue
        unit = change.unit(head.path)
        kept = {u.key for u in uses(head) if u.sets}
        for key in sorted({u.key for u in uses(old) if u.sets and u.holder != "self"} - kept):
            found = _after(key, head, change) if unit is not None else None
            if found is not None and unit is not None and _only_made(key, change, config):
                yield _one_branch(key, *found, head, unit, rule)


def _after(key: str, function: Function, change: ChangeSet) -> tuple[Use, Use] | None:
    """(the call on a branch that gets the key, the read of it outside that branch)."""
    calls: list[Use] = []
    for guarded in guarded_statements(function.body):
        stmt = guarded.stmt
        args = (
            stmt.value.args if isinstance(stmt, ExprStmt) and isinstance(stmt.value, E.Call) else ()
        )
        if guarded.guards and any(
            isinstance(a, E.Index) and a.indices == (E.Const(key),) for a in args
        ):
            calls.append(Use("", key, False, stmt.line, guarded.guards))
    for use in uses(function):
        outside = [c for c in calls if c.line < use.line and len(use.guards) < len(c.guards)]
        if (
            use.key == key
            and outside
            and not asks_platform(outside[0].guards)
            and not looked_for(use)
        ):
            ahead = outside[0].guards[: len(use.guards)] == use.guards
            if ahead and change.touches(function.path, use.line, use.line):
                return outside[0], use
    return None


def _only_made(key: str, change: ChangeSet, config: Config) -> bool:
    """Whether all that the product sets the key to, anywhere, is a fresh array."""
    values: list[E.Expr | None] = []
    for path in product_files(key, change, config):
        unit = change.unit(path)
        for function in unit.functions if unit is not None else ():
            if unit is not None and key in unit.text(function.start_line, function.end_line):
                values += [u.value for u in uses(function) if u.sets and u.key == key]
    return bool(values) and all(isinstance(v, E.Call) and E.callee(v) in MAKES for v in values)


def _one_branch(
    key: str, call: Use, read: Use, function: Function, unit: SourceFile, rule: str
) -> Finding:
    args = {"key": key, "call": Location(unit.path, call.line), "function": function.qualname}
    return Finding(
        rule=rule,
        severity=Severity.QUESTION,
        confidence=Confidence.MEDIUM,
        location=Location(unit.path, read.line),
        message=Message("one-branch", args),
        symbol=function.qualname,
        subject=key,
        evidence=(
            _step(call, unit, Message("filled-here")),
            _step(read, unit, Message("read-here")),
        ),
    )
