"""Calls of device ops in tests that do not fit what the op takes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from checks.core.change import ChangeSet
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
from checks.domain.call_targets import Targets, nearest_imports
from checks.domain.hardware_reach import excluded
from checks.domain.ops import OpInfo, Ops, callers, calls_of
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.source import language


def wrong_arguments(change: ChangeSet, config: Config, rule: str) -> Iterator[Finding]:
    """Calls of device ops that the change touched, in tests, with more arguments than the op has.

    Where the call did not fit before either, the test was wrong already: a suggestion.
    """
    ops, before = Ops.of(change), Ops.of(change, Side.BASE)
    for name in sorted(_touched_ops(change)):
        tests = [
            path for path in change.head.paths_containing(name, "python") if config.is_test(path)
        ]
        infos = ops.named(name) if tests else ()
        if not infos or any(not i.params for i in infos):
            continue
        for path in tests:
            unit = change.unit(path)
            same = [i for i in infos if config.hardware_of(i.unit.path) == config.hardware_of(path)]
            if unit is not None:
                reached = _Reached(tuple(same or infos), infos, config)
                yield from _check_calls(name, reached, unit, change, before, rule)


def _touched_ops(change: ChangeSet) -> set[str]:
    """Ops whose registration, binding or function the change touched."""
    names: set[str] = set()
    for file in change.files:
        unit = (
            change.unit(file.head_path)
            if file.head_path and language(file.head_path) == "cpp"
            else None
        )
        if unit is not None:
            touched = {
                f.name
                for f in unit.functions
                if change.touches(unit.path, f.start_line, f.end_line)
            }
            names |= {
                o.name
                for o in unit.ops
                if o.kernel in touched or change.touches(unit.path, o.line, o.end_line)
            }
            names |= {
                b.name for b in unit.bindings if change.touches(unit.path, b.line, b.end_line)
            }
    return names


@dataclass(frozen=True, slots=True)
class _Reached:
    """The ops that a test calls by one name: those of its own hardware, else `all` of them."""

    own: tuple[OpInfo, ...]
    all: tuple[OpInfo, ...]
    config: Config

    def under(self, guards: tuple[E.Expr, ...]) -> list[OpInfo]:
        """Those that the conditions around a call leave: a test may ask which hardware it was built for."""
        for ops in (self.own, self.all):
            left = [
                o
                for o in ops
                if not excluded(guards, self.config.hardware_of(o.unit.path), self.config)
            ]
            if left:
                return left
        return []


def _check_calls(
    name: str, reached: _Reached, unit: SourceFile, change: ChangeSet, before: Ops, rule: str
) -> Iterator[Finding]:
    """One finding for each file: the first call that does not fit, with the others beside it. `before` has
    the op as it was."""
    targets, wrong = Targets.of_change(change), []
    for function in callers(name, unit):
        for call, guards in calls_of(function.body):
            ops = reached.under(guards)
            if (
                call.func != E.Name(name)
                or E.starred(call)
                or not ops
                or any(_fits(call, op) for op in ops)
            ):
                continue
            imports = nearest_imports(name, call.line, function, unit)
            if (
                any("ops" in i.module.split(".") for i in imports)
                and targets.of(call, function, unit) is None
            ):
                wrong.append((call, function, ops[0]))
    if wrong:
        call, function, op = wrong[0]
        old = [i for i in before.named(name) if i.unit.path in {o.unit.path for o in reached.own}]
        fitted = not old or any(_fits(call, op) for op in old)
        older = not fitted and not change.touches(unit.path, call.line, call.line)
        finding = _wrong_call(call, function, op, unit, older, rule)
        others = tuple(
            Related(Location(unit.path, c.line), Message("arguments-too", {}))
            for c, _, _ in wrong[1:]
        )
        yield replace(finding, related=others)


def _fits(call: E.Call, op: OpInfo) -> bool:
    count = len(call.args) + len(call.keywords)
    return count <= len(op.params) and all(k in op.params for k, _ in call.keywords)


def _wrong_call(
    call: E.Call, function: Function, op: OpInfo, unit: SourceFile, older: bool, rule: str
) -> Finding:
    place = Location(unit.path, call.line)
    node = "::".join((unit.path, *function.qualname.split(".")))
    given, wanted = len(call.args) + len(call.keywords), len(op.params)
    unknown = [k for k, _ in call.keywords if k not in op.params]
    args = {
        "test": node,
        "op": op.name,
        "given": given,
        "wanted": wanted,
        "unknown": unknown,
        "older": older,
    }
    evidence = PredictedFailure(
        test=node,
        fixture=place,
        expression=op.name,
        value=", ".join(unknown) or f"{given} != {wanted}",
        exception="TypeError",
        raised_at=place,
    )
    return Finding(
        rule=rule,
        severity=Severity.SUGGESTION if older else Severity.BUG,
        confidence=Confidence.HIGH,
        location=place,
        message=Message("arguments", {**args, "at": Location(op.unit.path, op.line)}),
        symbol=function.qualname,
        subject=op.name,
        evidence=(evidence,),
    )
