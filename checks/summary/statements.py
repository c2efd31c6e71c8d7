"""What changed inside of functions, statement by statement: what is set and returned, fields, loops, enums."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction, equal_code, has_word
from checks.core.config import Config
from checks.domain.ops import statement_expressions
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Assign, For, Return, Stmt
from checks.summary.pairs import paired

# An enum's member: `SpecMethod.MTP`, never `self.method`.
_MEMBER = re.compile(r"(?:\w+\.)*[A-Z][A-Za-z0-9]+\.[A-Z][A-Z0-9_]*")

_Hunk = tuple[ChangedFunction, list[Stmt], list[Stmt]]


@dataclass(frozen=True, slots=True)
class Written:
    """A line of a function before and after: what `target` gets, or a loop's head (`target` empty). Text that goes over
    several lines is left out."""

    function: Function
    target: str
    old: str
    new: str
    line: int


@dataclass(frozen=True, slots=True)
class Branches:
    """Values of an enum that a function newly compares with: `VerifyStrategy` and its members. `new`: so is the
    function."""

    function: Function
    enum: str
    members: tuple[str, ...]
    line: int
    new: bool


def assignments(change: ChangeSet, config: Config) -> Iterator[Written]:
    """State (`a.b`, `a[i]`) that a function sets in one place, before and after, to something else."""
    for delta in paired(change, config):
        if delta.base is None:
            continue
        before, now = (
            _states(g.stmt for g in delta.base_statements),
            _states(g.stmt for g in delta.statements),
        )
        for state, alike in now.items():
            old = before.get(state, [])
            if len(old) == len(alike) == 1 and not equal_code(old[0].value, alike[0].value):
                (_, was), (target, value) = (
                    sides(old[0], delta.base_unit),
                    sides(alike[0], delta.unit),
                )
                if target:
                    yield Written(delta.head, target, was, value, alike[0].line)


def in_place(change: ChangeSet, config: Config) -> Iterator[Written]:
    """The one line of a hunk that sets something, or (`target` empty) returns, before and after."""
    for delta, gone, come in _hunks(change, config):
        assert delta.base_unit is not None
        for kind in (Assign, Return):
            old, new = ([s for s in side if isinstance(s, kind)] for side in (gone, come))
            if len(old) == len(new) == 1 and not equal_code(old[0].value, new[0].value):
                found = _exchanged(old[0], new[0], delta)
                if found:
                    yield found


def _exchanged(
    old: Assign | Return, new: Assign | Return, delta: ChangedFunction
) -> Written | None:
    if isinstance(old, Return) and isinstance(new, Return):
        was, now = _returned(old, delta.base_unit), _returned(new, delta.unit)
        return Written(delta.head, "", was, now, new.line) if was and now else None
    if not isinstance(old, Assign) or not isinstance(new, Assign):
        return None
    (_, was), (target, now) = sides(old, delta.base_unit), sides(new, delta.unit)
    alike = old.op == new.op == "=" and equal_code(old.target, new.target)
    name = new.target.id if isinstance(new.target, E.Name) else target
    return Written(delta.head, name, was, now, new.line) if alike and was and now else None


def _returned(stmt: Return, unit: SourceFile | None) -> str:
    """What stands behind `return`, empty where it goes over several lines."""
    line = unit.text(stmt.line).strip() if unit and stmt.end_line == stmt.line else ""
    found = re.match(r"return\s+(.*?);?(?:\s+(?:#|//).*)?$", line)
    return found[1] if found else ""


def _states(body: Iterable[Stmt]) -> dict[E.Expr, list[Assign]]:
    """Every assignment of state, by what it sets."""
    found: dict[E.Expr, list[Assign]] = {}
    for s in body:
        if isinstance(s, Assign) and s.op == "=" and isinstance(s.target, E.Attr | E.Index):
            found.setdefault(s.target, []).append(s)
    return found


def unpacked(change: ChangeSet, config: Config) -> Iterator[Written]:
    """Fields that a function newly takes out of a word: `actual_topk = meta[1] >> 8`."""
    for delta in paired(change, config):
        for guarded in delta.statements if delta.base is not None else ():
            s = guarded.stmt
            if (
                isinstance(s, Assign)
                and isinstance(s.target, E.Name)
                and s.value is not None
                and _takes_bits(s.value)
            ):
                _, value = sides(s, delta.unit)
                if value and delta.touched(s.line) and not has_word(delta.base_code, s.target.id):
                    yield Written(delta.head, s.target.id, "", value, s.line)


def _takes_bits(value: E.Expr) -> bool:
    return any(isinstance(e, E.Binary) and e.op in (">>", "&", "<<", "|") for e in E.walk(value))


def loops(change: ChangeSet, config: Config) -> Iterator[Written]:
    """Loops whose bounds changed in place."""
    for delta, gone, come in _hunks(change, config):
        old = [g for g in gone if isinstance(g, For)]
        new = [g for g in come if isinstance(g, For)]
        for now in new:
            before = [b for b in old if equal_code(b.target, now.target)]
            alike = [n for n in new if equal_code(n.target, now.target)]
            if len(before) == len(alike) == 1 and not equal_code(
                (before[0].start, before[0].stop), (now.start, now.stop)
            ):
                assert delta.base_unit is not None
                texts = (
                    delta.base_unit.text(before[0].line).strip(" {"),
                    delta.unit.text(now.line).strip(" {"),
                )
                yield Written(delta.head, "", *texts, now.line)


def _hunks(change: ChangeSet, config: Config) -> list[_Hunk]:
    """Of every hunk in a changed function: the statements that went and those that came."""
    return change.memo(
        ("analysis.hunks", config.paths.tests), lambda: [*_find_hunks(change, config)]
    )


def _find_hunks(change: ChangeSet, config: Config) -> Iterator[_Hunk]:
    for delta in paired(change, config):
        file = change.changed(delta.head.path)
        if delta.base is None or file is None:
            continue
        before, now = [g.stmt for g in delta.base_statements], [g.stmt for g in delta.statements]
        for hunk in file.hunks:
            gone = [
                s for s in before if hunk.base_start <= s.line < hunk.base_start + hunk.base_len
            ]
            come = [s for s in now if hunk.head_start <= s.line < hunk.head_start + hunk.head_len]
            if gone and come:
                yield delta, gone, come


def sides(stmt: Assign, unit: SourceFile | None) -> tuple[str, str]:
    """What stands left and right of the sign; the right side is empty where it goes over several lines."""
    line = unit.text(stmt.line).strip() if unit else ""
    left, sign, right = re.sub(r"\s(?:#|//).*", "", line).partition(f" {stmt.op} ")
    ended = stmt.end_line == stmt.line
    return (left, right.rstrip("; ") if ended else "") if sign else ("", "")


def branches(change: ChangeSet, config: Config) -> Iterator[Branches]:
    """Comparisons with members of an enum (`X.NAME`) that a function did not make before."""
    for delta in paired(change, config):
        before = {name for name, _ in _compared(delta.base)} if delta.base else set()
        enums: dict[str, list[tuple[str, int]]] = {}
        for name, line in _compared(delta.head):
            if name not in before:
                owner, _, member = name.rpartition(".")
                enums.setdefault(owner, []).append((member, line))
        for owner, members in enums.items():
            yield Branches(
                delta.head,
                owner,
                tuple(dict.fromkeys(m for m, _ in members)),
                members[0][1],
                delta.base is None,
            )


def _compared(function: Function) -> Iterator[tuple[str, int]]:
    for _, inside in statement_expressions(function.body):
        for e in inside:
            if isinstance(e, E.Binary) and e.op in ("==", "!=", "in", "not-in", "is"):
                yield from ((name, e.line) for side in (e.left, e.right) for name in _members(side))


def _members(e: E.Expr) -> Iterator[str]:
    items = e.items if isinstance(e, E.Sequence) else (e,)
    for item in items:
        name = E.dotted(item)
        if name and _MEMBER.fullmatch(name):
            yield ".".join(name.split(".")[-2:])
