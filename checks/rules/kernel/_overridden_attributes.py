"""Attributes that a constructor sets to something, and sets again before anybody reads them."""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.changed import ChangedFunction, equal_code, has_word, names_in
from checks.core.finding import Confidence, Finding, Location, Message, Related, Severity
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import SourceFile
from checks.lang.ir.stmt import Assign, GuardedStmt


def overridden(delta: ChangedFunction, rule: str) -> Iterator[Finding]:
    """An attribute that a constructor sets to something, and sets again before anyone reads it."""
    written: dict[str, list[tuple[GuardedStmt, Assign]]] = {}
    for guarded in delta.statements:
        if isinstance(guarded.stmt, Assign) and (name := _own(guarded.stmt)):
            written.setdefault(name, []).append((guarded, guarded.stmt))
    for later in (s for s in delta.head.body if isinstance(s, Assign)):
        name = _own(later)
        for guarded, first in written.get(name, ()):
            if first.end_line >= later.line:
                continue
            if guarded.loops or _empty(first.value) or equal_code(first.value, later.value):
                continue
            if not (
                delta.touched(first.line, first.end_line)
                or delta.touched(later.line, later.end_line)
            ):
                continue
            if name in names_in(later.value) or _read_between(delta.unit, name, first, later):
                continue
            yield _override(delta, name, first, later, rule)
            break


def _own(stmt: Assign) -> str:
    match stmt:
        case Assign(target=E.Attr(base=E.Name(id="self"), name=name), op="=", value=value) if (
            value is not None
        ):
            return name  # without a value it is a declaration
    return ""


def _empty(value: E.Expr | None) -> bool:
    """A value that only says that there is none yet."""
    match value:
        case None | E.Const() | E.Sequence(items=()) | E.Mapping(items=()):
            return True
        case E.Call(args=(), keywords=()):
            return True
    return False


def _read_between(unit: SourceFile, name: str, first: Assign, later: Assign) -> bool:
    return (
        has_word(unit.text(first.end_line + 1, later.line - 1), name)
        if later.line > first.end_line + 1
        else False
    )


def _override(
    delta: ChangedFunction, name: str, first: Assign, later: Assign, rule: str
) -> Finding:
    constant = isinstance(later.value, E.Const)
    place = Location(delta.unit.path, first.line, first.end_line)
    value = delta.unit.text(later.line).strip()
    return Finding(
        rule=rule,
        severity=Severity.BUG if constant else Severity.QUESTION,
        confidence=Confidence.HIGH if constant else Confidence.MEDIUM,
        location=Location(delta.unit.path, later.line, later.end_line),
        message=Message("overridden", {"name": f"self.{name}", "at": place, "value": value}),
        symbol=delta.head.qualname,
        subject=name,
        related=(Related(place, Message("set-before", {})),),
    )
