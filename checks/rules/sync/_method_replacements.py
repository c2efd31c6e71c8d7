"""Functions that are put in the place of a method, and lack a parameter that the method was given."""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, Definition, Finding, Location, Message, Severity
from checks.core.tree import contains_word
from checks.domain.keys import product_files
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Assign, guarded_statements


def lagging(change: ChangeSet, config: Config, rule: str) -> Iterator[Finding]:
    """`x.forward = MethodType(other, x)` under `isinstance(x, Mlp)`, where this change gave `Mlp.forward` a parameter
    that `other` does not take."""
    for old, head in change.changed_functions():
        if (
            old is None
            or head is None
            or not head.owner
            or not head.path.endswith(".py")
            or config.is_test(head.path)
        ):
            continue
        gained = {p.name for p in head.params} - {p.name for p in old.params}
        for path in product_files("MethodType", change, config) if gained else ():
            unit = (
                change.unit(path)
                if contains_word(change.head.read(path) or b"", head.owner.encode())
                else None
            )
            for line, other in _put(head, unit) if unit is not None else ():
                lacks = sorted(gained - {p.name for p in other.params})
                if lacks and unit is not None and not any(p.kind == "kwargs" for p in other.params):
                    yield _finding(head, other, line, lacks, unit, change, rule)


def _put(method: Function, unit: SourceFile) -> Iterator[tuple[int, Function]]:
    """(line, function) of what the file puts in the place of `method`."""
    for function in unit.functions:
        if "MethodType" not in unit.text(function.start_line, function.end_line):
            continue
        for guarded in guarded_statements(function.body):
            match guarded.stmt:
                case Assign(
                    target=E.Attr(name=name), value=E.Call(args=(E.Name(id=other), *_)) as call
                ) if name == method.name and E.callee(call) == "MethodType":
                    asked = any(_is_a(g, method.owner) for g in guarded.guards)
                    named = unit.named(other)
                    if asked and len(named) == 1:
                        yield guarded.stmt.line, named[0]


def _is_a(guard: E.Expr, owner: str) -> bool:
    """Whether `guard` holds for instances of the class alone."""
    match guard:
        case E.Call(func=E.Name(id="isinstance"), args=(_, E.Name(id=name))):
            return name == owner
    return False


def _finding(
    method: Function,
    other: Function,
    line: int,
    lacks: list[str],
    unit: SourceFile,
    change: ChangeSet,
    rule: str,
) -> Finding:
    home = change.unit(method.path)
    at = Location(method.path, method.start_line)
    args = {"name": other.name, "method": f"{method.owner}.{method.name}", "lacks": lacks, "at": at}
    return Finding(
        rule=rule,
        severity=Severity.SUGGESTION,
        confidence=Confidence.HIGH,
        location=Location(unit.path, other.start_line),
        message=Message("stand-in", {**args, "put": Location(unit.path, line)}),
        symbol=other.qualname,
        subject=f"{method.owner}.{method.name} {' '.join(lacks)}",
        evidence=(
            Definition(
                method.name, at, ", ".join(lacks), home.text(at.start_line).strip() if home else ""
            ),
        ),
    )
