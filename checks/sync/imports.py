"""Names that are bound on some hardware only, and argument lists that lost a comma."""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.change import ChangeSet
from checks.config import Config
from checks.finding import Confidence, Definition, Finding, Location, Message, Severity
from checks.ir import expr as E
from checks.ir.unit import Function, Import, Unit
from checks.ops import calls_of
from checks.source import language

_PLATFORM = re.compile(r"\bis_(\w+)\(\)")


def unbound(change: ChangeSet, config: Config, rule: str) -> Iterator[Finding]:
    """A name that changed code calls whatever the hardware, imported in some branches of a hardware switch only."""
    for _, head in change.changed_functions():
        if head is None or language(head.path) != "python" or config.is_test(head.path):
            continue
        unit = change.unit(head.path)
        branches = _branches(unit) if unit is not None else {}
        if unit is None or not branches:
            continue
        for call, guards in calls_of(head.body):
            if isinstance(call.func, E.Name) and change.touches(unit.path, call.line, call.line):
                yield from _unbound_call(call, call.func.id, guards, head, unit, branches, rule)


def _branches(unit: Unit) -> dict[str, list[Import]]:
    """The imports at file level that stand under a test of the hardware, by the name they bind."""
    found: dict[str, list[Import]] = {}
    for item in unit.imports:
        if item.name and not item.function:
            found.setdefault(item.alias or item.name, []).append(item)
    guarded = {n: items for n, items in found.items() if all(_PLATFORM.search(i.guard) for i in items)}
    return guarded


def _unbound_call(
    call: E.Call,
    name: str,
    guards: tuple[E.Expr, ...],
    function: Function,
    unit: Unit,
    branches: dict[str, list[Import]],
    rule: str,
) -> Iterator[Finding]:
    items = branches.get(name)
    if items is None or any("is_" in (E.callee(e) if isinstance(e, E.Call) else "") for g in guards for e in E.walk(g)):
        return
    if any((i.alias or i.name) == name and i.function for i in unit.imports):
        return
    bound = {i.guard for i in items}
    arms = {i.guard for others in branches.values() for i in others} - bound
    lacking = sorted({p for g in arms for p in _positive(g)} - {p for g in bound for p in _positive(g)})
    if not lacking:
        return
    at = Location(unit.path, min(i.line for i in items))
    yield Finding(
        rule=rule,
        severity=Severity.SUGGESTION,
        confidence=Confidence.MEDIUM,
        location=Location(unit.path, call.line),
        message=Message("unbound", {"name": name, "hardware": lacking, "at": at}),
        symbol=function.qualname,
        subject=name,
        evidence=(Definition(name, at, items[0].guard, unit.text(at.start_line).strip()),),
    )


def _positive(guard: str) -> list[str]:
    """The hardware that a guard asks for, leaving out what it excludes."""
    return [m[1] for m in _PLATFORM.finditer(guard) if not re.search(r"not\s*\(?[^()]*$", guard[: m.start()])]


def lost_comma(change: ChangeSet, config: Config, rule: str) -> Iterator[Finding]:
    """An argument `x` followed on later lines by `["a", "b"]`: an index where two arguments were meant."""
    for _, head in change.changed_functions():
        if head is None or language(head.path) != "python" or config.is_test(head.path):
            continue
        unit = change.unit(head.path)
        for call, _ in calls_of(head.body) if unit is not None else ():
            for arg in call.args:
                if unit is not None and _names_as_index(arg) and change.touches(unit.path, arg.line, arg.line):
                    yield Finding(
                        rule=rule,
                        severity=Severity.BUG,
                        confidence=Confidence.MEDIUM,
                        location=Location(unit.path, arg.line),
                        message=Message("comma", {"name": E.callee(call), "argument": _base(arg)}),
                        symbol=head.qualname,
                        subject=_base(arg),
                    )


def _names_as_index(arg: E.Expr) -> bool:
    """`x["a", "b"]`: no array and no dict of this code is indexed with several names at once."""
    if not isinstance(arg, E.Index) or len(arg.indices) < 2:
        return False
    return all(isinstance(i, E.Const) and isinstance(i.value, str) for i in arg.indices)


def _base(arg: E.Expr) -> str:
    return (E.dotted(arg.base) if isinstance(arg, E.Index) else None) or ""
