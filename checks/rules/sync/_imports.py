"""Names that are bound on some hardware only, and argument lists that lost a comma."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, Definition, Finding, Location, Message, Severity, Side
from checks.domain.hardware_reach import refused, topics
from checks.domain.ops import calls_of
from checks.domain.siblings import base_unit
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, Import, SourceFile
from checks.lang.source import language

_PLATFORM = re.compile(r"\bis_(\w+)\(\)")


def unbound(change: ChangeSet, config: Config, rule: str) -> Iterator[Finding]:
    """A name that changed code calls whatever the hardware, imported in some branches of a hardware switch only.

    Hardware is left out that could not get there before either, for want of another name, or on which the feature is
    refused.
    """
    for _, head in change.changed_functions():
        if head is None or language(head.path) != "python" or config.is_test(head.path):
            continue
        unit, old = change.unit(head.path), base_unit(head.path, change)
        branches = _branches_of(unit, Side.HEAD, change) if unit is not None else {}
        text = unit.text(head.start_line, head.end_line) if unit is not None else ""
        if unit is None or not any(name in text for name in branches):
            continue
        if _under_switch(head, unit) or _left(head, unit):
            continue
        before = _Before(old, _branches_of(old, Side.BASE, change)) if old is not None else None
        for call, guards in calls_of(head.body):
            if not isinstance(call.func, E.Name) or not change.touches(
                unit.path, call.line, call.line
            ):
                continue
            name, hardware = call.func.id, _lacking(call.func.id, guards, unit, branches)
            hardware = [
                h
                for h in hardware
                if not (before and before.never_came(h, name, guards, head, unit))
            ]
            hardware = [h for h in hardware if not refused(guards, h, change, config)]
            if hardware:
                yield _unbound(call, name, hardware, head, unit, branches[name], rule)


def _branches_of(unit: SourceFile, side: Side, change: ChangeSet) -> dict[str, list[Import]]:
    return change.memo((_branches, side, unit.path), lambda: _branches(unit))


def _branches(unit: SourceFile) -> dict[str, list[Import]]:
    """The imports at file level that stand under a test of the hardware, by the name they bind."""
    found: dict[str, list[Import]] = {}
    for item in unit.imports:
        if item.name and not item.function:
            found.setdefault(item.alias or item.name, []).append(item)
    guarded = {
        n: items for n, items in found.items() if all(_PLATFORM.search(i.guard) for i in items)
    }
    return guarded


def _lacking(
    name: str, guards: tuple[E.Expr, ...], unit: SourceFile, branches: dict[str, list[Import]]
) -> list[str]:
    """The hardware of the switch on which `name` is not bound; none where the call asks for the hardware itself."""
    items = branches.get(name)
    if items is None or any(
        "is_" in (E.callee(e) if isinstance(e, E.Call) else "") for g in guards for e in E.walk(g)
    ):
        return []
    if any((i.alias or i.name) == name and i.function for i in unit.imports) or _set_apart(
        name, unit
    ):
        return []
    bound = {i.guard for i in items}
    arms = {i.guard for others in branches.values() for i in others} - bound
    return sorted(
        {p for g in arms for p in _positive(g)} - {p for g in bound for p in _positive(g)}
    )


def _set_apart(name: str, unit: SourceFile) -> bool:
    """Whether the file binds the name itself where it is not imported: `name = None`."""
    start = f"{name} = "
    if start not in unit.text(1, len(unit.lines)):
        return False
    return any(line[:1].isspace() and line.lstrip().startswith(start) for line in unit.lines)


@dataclass(frozen=True, slots=True)
class _Before:
    """The file as it was, with the names that it bound on some hardware only."""

    unit: SourceFile
    branches: dict[str, list[Import]]

    def calls(self, hardware: str, function: Function) -> Iterator[tuple[str, tuple[E.Expr, ...]]]:
        """The names that `function` called and `hardware` lacked, with the conditions."""
        for call, guards in calls_of(function.body):
            if isinstance(call.func, E.Name) and hardware in _lacking(
                call.func.id, guards, self.unit, self.branches
            ):
                yield call.func.id, guards

    def never_came(
        self,
        hardware: str,
        name: str,
        guards: tuple[E.Expr, ...],
        function: Function,
        head: SourceFile,
        below: tuple[str, ...] = (),
    ) -> bool:
        """Whether `hardware` lacked another name on the way to this call, in another arm of the same choice, or for
        the same feature elsewhere in the file. A new function is where its callers are; `below` are the functions
        between it and the call, which bring nobody there when they call it too."""
        here = {_asked(g) for g in guards}
        subjects = {t for g in guards for t in topics(g)}
        for old in self.unit.functions:
            for other, conditions in self.calls(hardware, old) if _may_call(old, self) else ():
                if (
                    old.qualname == function.qualname
                    and other != name
                    and {_asked(c) for c in conditions} <= here
                ):
                    return True
                if subjects & {t for c in conditions for t in topics(c)}:
                    return True
        if self.unit.named(function.name):
            return False
        way = (*below, function.qualname)
        naming = (f for f in head.functions if function.name in head.text(f.start_line, f.end_line))
        callers = [
            (f, g) for f in naming for c, g in calls_of(f.body) if E.callee(c) == function.name
        ]
        others = [(f, g) for f, g in callers if f.qualname not in way]
        return bool(callers) and all(
            self.never_came(hardware, name, g, f, head, way) for f, g in others
        )


def _may_call(function: Function, before: _Before) -> bool:
    text = before.unit.text(function.start_line, function.end_line)
    return any(name in text for name in before.branches)


def _under_switch(function: Function, unit: SourceFile) -> bool:
    """Whether the function is defined under a test of the hardware."""
    depth = _indent(unit.lines[function.start_line - 1])
    above = (unit.lines[n] for n in range(function.start_line - 2, -1, -1) if unit.lines[n].strip())
    outer = next((line for line in above if _indent(line) < depth), "")
    return bool(depth and _PLATFORM.search(outer))


def _left(function: Function, unit: SourceFile) -> bool:
    """Whether a private function stands there unused: its file names it nowhere else, or in comments alone."""
    if not re.match("_[^_]", function.name):
        return False
    return sum(function.name in line.partition("#")[0] for line in unit.lines) == 1


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _asked(guard: E.Expr) -> E.Expr:
    """What a condition is about: `method` for `method == "a"` and for `method != "b"`."""
    match guard:
        case E.Unary(op="not", operand=operand):
            return _asked(operand)
        case E.Binary(op="==" | "!=" | "in" | "not-in", left=left):
            return left
        case _:
            return guard


def _unbound(
    call: E.Call,
    name: str,
    lacking: list[str],
    function: Function,
    unit: SourceFile,
    items: list[Import],
    rule: str,
) -> Finding:
    at = Location(unit.path, min(i.line for i in items))
    return Finding(
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
    asked = sorted({m[1] for m in _PLATFORM.finditer(guard)})
    try:
        tree = ast.parse(guard.strip(), mode="eval").body
    except SyntaxError:
        return asked
    return [name for name in asked if _may_be(True, tree, name)]


def _may_be(wanted: bool, test: ast.expr, hardware: str) -> bool:
    """Whether a condition may come to `wanted` on `hardware`."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _may_be(not wanted, operand, hardware)
        case ast.BoolOp(op=op, values=values):
            needed = all if isinstance(op, ast.And) is wanted else any
            return needed(_may_be(wanted, v, hardware) for v in values)
        case ast.Call(func=ast.Attribute(attr=name)) if name.startswith("is_"):
            return (name == f"is_{hardware}") is wanted
        case _:
            return True


def lost_comma(change: ChangeSet, config: Config, rule: str) -> Iterator[Finding]:
    """An argument `x` followed on later lines by `["a", "b"]`: an index where two arguments were meant."""
    for _, head in change.changed_functions():
        if head is None or language(head.path) != "python" or config.is_test(head.path):
            continue
        unit = change.unit(head.path)
        for call, _ in calls_of(head.body) if unit is not None else ():
            for arg in call.args:
                if (
                    unit is not None
                    and _names_as_index(arg)
                    and change.touches(unit.path, arg.line, arg.line)
                ):
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
