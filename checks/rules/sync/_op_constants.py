"""A named constant that got a new value in one place while another place keeps the old one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.config import Config, matches
from checks.core.finding import Confidence, Definition, Finding, Location, Message, Severity, Side
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import SourceFile
from checks.lang.ir.stmt import Assign, guarded_statements
from checks.lang.source import language
from checks.rules.sync._op_copies import copies

_NAME = re.compile(r"_?[A-Z][A-Z0-9]*(_[A-Z0-9]+)+|k[A-Z][a-z]+([A-Z][a-z]+)+")
_LIKELY = re.compile(r"\b(_?[A-Z][A-Z0-9]*_[A-Z0-9_]+|k[A-Z][a-z]\w+)\b[^\n]*\d")
_TUNING = re.compile(
    r"(?i)block|thread|warp|vec|tile|stage|unroll|pack|cta|grid|align|chunk|version|pipeline|reg"
)


@dataclass(frozen=True, slots=True)
class Named:
    """`name` is given the number `value` on `line`."""

    name: str
    value: int | float
    line: int


@dataclass(frozen=True, slots=True)
class Renumbered:
    """What the change did to a constant: `old` became `new` in `unit`."""

    old: Named
    new: Named
    unit: SourceFile


def constants(change: ChangeSet, config: Config, rule: str) -> Iterator[Finding]:
    """One question for each constant whose old value stays in a place that the changed one shares its hardware with."""
    for renumbered in _renumbered(change, config):
        places = list(_keeping(renumbered, change, config))
        if places:
            yield _finding(renumbered, places, config, rule)


def _renumbered(change: ChangeSet, config: Config) -> Iterator[Renumbered]:
    for file in change.files:
        if (
            not file.head_path
            or not file.base_path
            or not language(file.head_path)
            or config.is_test(file.head_path)
        ):
            continue
        unit, old = change.unit(file.head_path), change.unit(file.base_path, Side.BASE)
        added, removed = file.head_lines(), file.base_lines()
        if (
            unit is None
            or old is None
            or not any(_LIKELY.search(old.lines[n - 1]) for n in removed)
        ):
            continue
        fresh = [n for n in named(unit, added) if n.line in added]
        for gone in (n for n in named(old, removed) if n.line in removed) if fresh else ():
            now = [n for n in fresh if n.name == gone.name]
            if len(now) == 1 and now[0].value != gone.value and not _TUNING.search(gone.name):
                yield Renumbered(gone, now[0], unit)


def named(unit: SourceFile, lines: set[int] | None = None) -> Iterator[Named]:
    """The constants of `unit` that have a number: definitions, class attributes, and assignments inside functions
    that hold one of `lines`."""
    for constant in unit.constants:
        value = number(constant.value)
        if value is not None and _NAME.fullmatch(constant.name):
            yield Named(constant.name, value, constant.line)
    for function in unit.functions:
        if lines is not None and not any(function.covers(n) for n in lines):
            continue
        for guarded in guarded_statements(function.body):
            stmt = guarded.stmt
            if (
                isinstance(stmt, Assign)
                and stmt.op == "="
                and isinstance(stmt.target, E.Name | E.Attr)
            ):
                name = stmt.target.id if isinstance(stmt.target, E.Name) else stmt.target.name
                value = number(stmt.value)
                if value is not None and _NAME.fullmatch(name):
                    yield Named(name, value, stmt.line)


def number(value: E.Expr | None) -> int | float | None:
    match value:
        case E.Const(value=int() | float() as found) if not isinstance(found, bool):
            return found
        case E.Unary(op="-", operand=E.Const(value=int() | float() as found)):
            return -found
        case E.Cast(operand=operand):
            return number(operand)
        case _:
            return None


def _keeping(
    renumbered: Renumbered, change: ChangeSet, config: Config
) -> Iterator[tuple[Named, SourceFile]]:
    """Places outside tests that give the same name the old value: on the hardware of the changed place, or in another
    hardware's copy of the same op."""
    path = renumbered.unit.path
    kind = config.hardware_of(path)
    family = next((f.files for f in config.family if matches(path, f.files)), ())
    hits = [
        h
        for h in change.head.find(renumbered.old.name)
        if h.path != path and not config.is_test(h.path)
    ]
    for other in sorted(
        {h.path for h in hits if re.search(rf"{renumbered.old.name}\b\s*[=\s]\s*", h.text)}
    ):
        elsewhere = kind and config.hardware_of(other) not in ("", kind)
        if matches(other, family) or (elsewhere and other not in copies(path, change, config)):
            continue
        unit = change.unit(other)
        if unit is not None and _lays_out(renumbered.old.name, unit):
            return
        lines = {h.line for h in hits if h.path == other}
        for item in named(unit, lines) if unit is not None else ():
            if (
                unit is not None
                and item.name == renumbered.old.name
                and item.value == renumbered.old.value
            ):
                yield item, unit


def _lays_out(name: str, unit: SourceFile) -> bool:
    """Whether the constant sizes a struct here: layouts of messages are `protocol.layout-mismatch`'s."""
    return any(
        name in E.names(d)
        for struct in unit.structs
        for member in struct.members
        for d in member.dims
    )


def _finding(
    renumbered: Renumbered, places: list[tuple[Named, SourceFile]], config: Config, rule: str
) -> Finding:
    item, unit = places[0]
    at = Location(renumbered.unit.path, renumbered.new.line)
    args = {
        "name": item.name, "old": str(renumbered.old.value), "new": str(renumbered.new.value), "at": at,
        "hardware": config.hardware_of(at.path), "more": len(places) - 1,
    }  # fmt: skip
    others = (
        Definition(n.name, Location(u.path, n.line), str(n.value), u.text(n.line).strip())
        for n, u in places
    )
    here = Definition(
        item.name, at, str(renumbered.new.value), renumbered.unit.text(at.start_line).strip()
    )
    return Finding(
        rule=rule,
        severity=Severity.QUESTION,
        confidence=Confidence.MEDIUM,
        location=Location(unit.path, item.line),
        message=Message("constant", args),
        symbol=item.name,
        subject=f"{item.name} {renumbered.old.value}",
        evidence=(here, *others),
    )
