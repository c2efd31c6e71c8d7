"""Attributes that only some kinds of an object have, read where it may be of any kind."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Message, Related, Severity
from checks.domain.ops import calls_of, statement_expressions
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Class, Function, SourceFile
from checks.lang.source import language
from checks.rules.sync._key_attributes import attributes

_ASKS = re.compile(r"\b(if|and|hasattr|getattr|isinstance)\b")
_SELF = E.Name("self")
_Question: TypeAlias = tuple[str, str]


@dataclass(frozen=True, slots=True)
class _Read:
    """`self.holder.name` on `line`, under `guards`."""

    holder: str
    name: str
    line: int
    guards: tuple[E.Expr, ...]


def of_one_kind(change: ChangeSet, config: Config, rule: str) -> Iterator[Finding]:
    """`self.proposer.x`, new, where another kind of proposer has no `x` and all other reads ask which kind it is."""
    for _, head in change.changed_functions():
        if (
            head is None
            or not head.owner
            or language(head.path) != "python"
            or config.is_test(head.path)
        ):
            continue
        unit = change.unit(head.path)
        if unit is None:
            continue
        for read in _reads(head):
            if not change.touches(unit.path, read.line, read.line):
                continue
            asked = _asked_elsewhere(read, unit, change)
            if asked and not _asks(read, head, unit, asked):
                lacking = _lacking(read, change)
                if lacking:
                    yield _finding(read, head, unit, asked, lacking, rule)


def _reads(function: Function) -> list[_Read]:
    return function.body.memo(_reads, lambda: list(_found(function)))


def _found(function: Function) -> Iterator[_Read]:
    for guarded, inside in statement_expressions(function.body):
        for e in inside:
            if e.__class__ is E.Attr and e.base.__class__ is E.Attr and e.base.base == _SELF:
                yield _Read(e.base.name, e.name, e.line or guarded.stmt.line, guarded.guards)


def _asked_elsewhere(read: _Read, unit: SourceFile, change: ChangeSet) -> dict[_Question, int]:
    """What every other read of the same attribute in the file asks for before, with the line of one that does."""
    found: dict[_Question, int] | None = None
    name = f"{read.holder}.{read.name}"
    for function in unit.functions:
        if name not in unit.text(function.start_line, function.end_line):
            continue
        for other in _reads(function):
            if (other.holder, other.name) == (read.holder, read.name) and not change.touches(
                unit.path, other.line, other.line
            ):
                asked = {q: other.line for guard in other.guards for q in _questions(guard)}
                found = asked if found is None else {q: n for q, n in found.items() if q in asked}
                if not found:
                    return {}  # most often the first one
    return found or {}


def _questions(guard: E.Expr) -> Iterator[_Question]:
    """The attributes of `self` that a condition compares with a constant, and the constant's name."""
    for e in E.walk(guard):
        match e:
            case E.Binary(
                op="==" | "in", left=E.Attr(base=E.Name(id="self"), name=name), right=right
            ):
                yield from ((name, word) for word in _words(right))


def _words(value: E.Expr) -> Iterator[str]:
    for e in E.walk(value):
        match e:
            case E.Attr(name=word) | E.Const(value=str() as word):
                yield word.lower()


def _asks(read: _Read, function: Function, unit: SourceFile, asked: dict[_Question, int]) -> bool:
    """Whether the function's name, something before the read, its line or all calls of the function ask as well, for
    the same attribute or the same constant."""
    words = {word for question in asked for word in question}
    above = unit.text(function.start_line, read.line).lower()
    if any(word in above for word in words) or _ASKS.search(unit.text(read.line)):
        return True
    calls = [
        g
        for f in unit.functions
        for c, g in calls_of(f.body)
        if E.callee(c).endswith(function.name)
    ]
    return bool(calls) and all(
        words & {w for guard in guards for w in _words(guard)} for guards in calls
    )


def _lacking(read: _Read, change: ChangeSet) -> list[str]:
    """The kinds of `read.holder` without the attribute; none where it is not known that another kind has it."""
    family = "".join(word.title() for word in read.holder.split("_"))
    paths = sorted({h.path for h in change.head.find(family) if h.path.endswith(".py")})
    units = [u for u in map(change.unit, paths) if u is not None]
    known = [(c, u) for u in units for c in u.classes if c.name == family or family in c.bases]
    bases = [(c, u) for c, u in known if c.name == family]
    if len(bases) != 1 or _may_have(read.name, *bases[0]):
        return []
    kinds = [(c, u) for c, u in known if c.name != family and c.bases == (family,)]
    without = sorted(c.name for c, u in kinds if not _may_have(read.name, c, u))
    return without if len(without) < len(kinds) else []


def _may_have(name: str, cls: Class, unit: SourceFile) -> bool:
    return name in attributes(cls, unit) or "__getattr" in unit.text(cls.start_line, cls.end_line)


def _finding(
    read: _Read,
    function: Function,
    unit: SourceFile,
    asked: dict[_Question, int],
    lacking: list[str],
    rule: str,
) -> Finding:
    subject, _ = first = min(asked)
    other = Location(unit.path, asked[first])
    holder = f"self.{read.holder}"
    args = {
        "holder": holder,
        "key": read.name,
        "kinds": lacking,
        "subject": f"self.{subject}",
        "at": other,
    }
    return Finding(
        rule=rule,
        severity=Severity.QUESTION,
        confidence=Confidence.MEDIUM,
        location=Location(unit.path, read.line),
        message=Message("one-kind", args),
        symbol=function.qualname,
        subject=f"{holder}.{read.name}",
        related=(Related(other, Message("asked-here", {"subject": f"self.{subject}"})),),
    )
