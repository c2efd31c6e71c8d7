"""An attribute that a change renamed on one hardware, and that goes by the old name on others."""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Message, Severity, Sibling
from checks.domain.siblings import paired_changes, sibling_files
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Assign, guarded_statements
from checks.rules.sync._effects import weight

LEAST_WEIGHT = 3


def renamed(change: ChangeSet, config: Config, rule: str) -> Iterator[Finding]:
    """`self.b = x.y.z`, which was `self.a = x.y.z` before this change and still is in a sibling's runner."""
    for old, new, _ in paired_changes(change, config):
        unit = change.unit(new.path)
        if not any(change.touches(new.path, line, line) for _, _, line in _set(new)):
            continue
        before, after = dict(_attributes(old)), dict(_attributes(new))
        for name, (value, line) in sorted(after.items()) if unit is not None else ():
            if name in before or not change.touches(new.path, line, line) or unit is None:
                continue
            was = [n for n, (v, _) in before.items() if n not in after and v == value]
            if len(was) != 1:
                continue
            behind = [
                s
                for p in sibling_files(new.path, change, config)
                for s in _keeps(was[0], value, p, change, config)
            ]
            if behind:
                yield _finding(name, was[0], behind, new, line, unit, rule)


def _attributes(function: Function) -> Iterator[tuple[str, tuple[E.Expr, int]]]:
    """(name, value and line) of each attribute of `self` that gets a value which two files do not share by chance."""
    for name, value, line in _set(function):
        if weight(value) >= LEAST_WEIGHT:
            yield name, (value, line)


def _set(function: Function) -> Iterator[tuple[str, E.Expr, int]]:
    """(name, value, line) of each attribute of `self` that gets a value."""
    for guarded in guarded_statements(function.body):
        match guarded.stmt:
            case Assign(
                target=E.Attr(base=E.Name(id="self"), name=name), op="=", value=value, line=line
            ):
                if value is not None:
                    yield name, value, line
            case _:
                pass


def _keeps(
    name: str, value: E.Expr, path: str, change: ChangeSet, config: Config
) -> Iterator[Sibling]:
    unit = change.unit(path)
    for function in unit.functions if unit is not None else ():
        if unit is None or f"self.{name}" not in unit.text(function.start_line, function.end_line):
            continue
        for other, (given, line) in _attributes(function):
            if other == name and given == value:
                why = Message("old-name", {"name": name})
                excerpt = unit.lines[line - 1].strip()
                yield Sibling(
                    Location(path, line), function.qualname, config.hardware_of(path), why, excerpt
                )
                return


def _finding(
    name: str,
    was: str,
    behind: list[Sibling],
    function: Function,
    line: int,
    unit: SourceFile,
    rule: str,
) -> Finding:
    hardware = sorted({s.hardware or s.location.path for s in behind})
    return Finding(
        rule=rule,
        severity=Severity.QUESTION,
        confidence=Confidence.HIGH,
        location=Location(unit.path, line),
        message=Message("renamed", {"name": name, "was": was, "hardware": hardware}),
        symbol=function.qualname,
        subject=f"{was} {name}",
        evidence=tuple(behind),
    )
