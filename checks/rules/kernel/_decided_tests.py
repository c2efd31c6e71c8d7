"""Tests that are decided where they stand: a local is compared with what it was set to."""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.changed import ChangedFunction, equal_code, names_in
from checks.core.finding import Confidence, Finding, Location, Message, Related, Severity
from checks.lang.ir import expr as E
from checks.lang.ir.stmt import Assign, For, If


def decided(delta: ChangedFunction, rule: str) -> Iterator[Finding]:
    """`if x == self.a`, touched by the change, where `x = self.a` came before and nothing since could change either."""
    for at, guarded in enumerate(delta.statements if delta.python else ()):
        stmt = guarded.stmt
        if not isinstance(stmt, If) or not delta.touched(stmt.line):
            continue
        match stmt.test:
            case E.Binary(op="==" | "!=" as op, left=E.Name(id=name), right=E.Attr() as value):
                pass
            case E.Binary(op="==" | "!=" as op, left=E.Attr() as value, right=E.Name(id=name)):
                pass
            case _:
                continue
        setter = _setter(delta, at, name, value)
        if setter is not None:
            yield _finding(delta, stmt, setter, op == "==", rule)


def _setter(delta: ChangedFunction, at: int, name: str, value: E.Attr) -> Assign | None:
    """The only assignment of `name`, which always comes before the test and gives it `value`."""
    bound = [
        n
        for n, g in enumerate(delta.statements)
        if isinstance(g.stmt, Assign | For) and name in names_in(g.stmt.target)
    ]
    if (
        len(bound) != 1
        or bound[0] >= at
        or any(name in names_in(loop.target) for loop in delta.statements[at].loops)
    ):
        return None
    here, first = delta.statements[at], delta.statements[bound[0]]
    stmt = first.stmt
    if (
        not isinstance(stmt, Assign)
        or stmt.op != "="
        or stmt.value is None
        or not equal_code(stmt.value, value)
    ):
        return None
    between = (
        delta.unit.text(stmt.end_line + 1, here.stmt.line - 1)
        if here.stmt.line > stmt.end_line + 1
        else ""
    )
    if "(" in between or f".{value.name}" in between or first.loops != here.loops:
        return None  # what is called may set it
    return (
        stmt
        if isinstance(stmt.target, E.Name) and first.guards == here.guards[: len(first.guards)]
        else None
    )


def _finding(delta: ChangedFunction, test: If, setter: Assign, equal: bool, rule: str) -> Finding:
    place = Location(delta.unit.path, setter.line, setter.end_line)
    text = delta.unit.text(test.line).strip()
    args = {"name": E.dotted(setter.target), "at": place, "test": text.rstrip(": "), "equal": equal}
    return Finding(
        rule=rule,
        severity=Severity.SUGGESTION,
        confidence=Confidence.HIGH,
        location=Location(delta.unit.path, test.line),
        message=Message("decided", args),
        symbol=delta.head.qualname,
        subject=text,
        related=(Related(place, Message("set-here", {})),),
    )
