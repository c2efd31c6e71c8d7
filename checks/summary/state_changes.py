"""What functions newly do, or do no more: leave early, set state, run under a condition."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction, equal_code, has_word
from checks.core.config import Config
from checks.domain.ops import calls_of
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function
from checks.lang.ir.stmt import (
    Assign,
    ExprStmt,
    For,
    GuardedStmt,
    If,
    Jump,
    Raise,
    Return,
    Stmt,
    guarded_statements,
)
from checks.summary.conditions import condition
from checks.summary.pairs import paired


@dataclass(frozen=True, slots=True)
class Exit:
    """A branch that only leaves: `how` is return, continue, break or raise; or a loop with a test, while."""

    function: Function
    how: str
    test: str
    line: int


@dataclass(frozen=True, slots=True)
class State:
    """What a function newly sets, and what it sets no more: `a.b`, `a[i]` without the index, `a["k"]` with it."""

    function: Function
    gained: tuple[str, ...]
    lost: tuple[str, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Narrowed:
    """A statement that stayed as it was and now runs only where `test` holds. `what` it sets, or calls."""

    function: Function
    calls: bool
    what: str
    test: str
    line: int


def exits(change: ChangeSet, config: Config) -> Iterator[Exit]:
    """Branches that came with the change and only leave, and loops that wait. Where one about the same went in the same
    hunk, it is that one altered."""
    for delta in paired(change, config):
        file = change.changed(delta.head.path)
        if delta.base is None or file is None:
            continue
        before = list(_tested(delta.base_statements))
        for s, test in _tested(delta.statements):
            how = _leaves(s) if delta.touched(s.line) else ""
            if not how or any(equal_code(test, old) for _, old in before):
                continue
            hunk = next(h for h in file.hunks if h.head_start <= s.line < h.head_start + h.head_len)
            gone = [
                (b, old)
                for b, old in before
                if hunk.base_start <= b.line < hunk.base_start + hunk.base_len
            ]
            altered = any(type(b) is type(s) and E.names(old) & E.names(test) for b, old in gone)
            if not altered and (text := condition(test, delta.unit)):
                yield Exit(delta.head, how, text, s.line)


def _tested(flat: Sequence[GuardedStmt]) -> Iterator[tuple[If | For, E.Expr]]:
    """The branches and loops that have a test, with it."""
    for guarded in flat:
        if isinstance(guarded.stmt, If | For) and guarded.stmt.test is not None:
            yield guarded.stmt, guarded.stmt.test


def _leaves(s: If | For) -> str:
    if isinstance(s, For):
        return "while"
    if len(s.then) != 1 or s.orelse:
        return ""
    match s.then[0]:
        case Return():
            return "return"
        case Raise():
            return "raise"
        case Jump(kind="continue" | "break" as kind):
            return kind
        case _:
            return ""


def state(change: ChangeSet, config: Config) -> Iterator[State]:
    """State that a function sets and did not even name before, or does not name any more. What a function of its file
    that it calls sets for it is not lost."""
    for delta in paired(change, config):
        if delta.base is None or delta.base_unit is None:
            continue
        before, now = _set_in(delta.base), _set_in(delta.head)
        old, new = delta.base_text, delta.text
        gained = {
            key: line
            for key, line in now.items()
            if not has_word(old, _last(key)) and delta.touched(line)
        }
        lost = [key for key in before if not has_word(new, _last(key))]
        handed = _handed(delta) if lost else set()
        lost = [key for key in lost if key not in handed]
        if gained or lost:
            yield State(
                delta.head,
                tuple(gained),
                tuple(lost),
                min(gained.values(), default=delta.head.start_line),
            )


def _handed(delta: ChangedFunction) -> set[str]:
    """What the functions of its file that it calls set."""
    called = {E.callee(c) for c, _ in calls_of(delta.head.body)}
    return {key for f in delta.unit.functions if f.name in called for key in _set_in(f)}


def _last(key: str) -> str:
    """`k` of `a.b["k"]`, `b` of `a.b`."""
    return re.split(r"\W+", key.rstrip('"]'))[-1]


def _set_in(function: Function) -> dict[str, int]:
    """What it sets that others can see, with the first line. Locals that it declares are its own."""
    flat = [g.stmt for g in guarded_statements(function.body)]
    own = {s.target.id for s in flat if isinstance(s, Assign) and isinstance(s.target, E.Name)}
    found: dict[str, int] = {}
    for s in flat:
        if (
            isinstance(s, Assign)
            and isinstance(s.target, E.Attr | E.Index)
            and E.root(s.target) not in own
        ):
            key = place(s.target)
            if key:
                found.setdefault(key, s.line)
    return found


def place(target: E.Expr) -> str:
    """What is set: `a.b`, `a["k"]`, and `a` for `a[i]`; empty for anything else."""
    match target:
        case E.Index(base=base, indices=(E.Const(value=str() as key),)):
            left = E.dotted(base)
            return f'{left}["{key}"]' if left else ""
        case E.Index(base=base):
            return place(base)
        case _:
            return E.dotted(target) or ""


def narrowed(change: ChangeSet, config: Config) -> Iterator[Narrowed]:
    """Statements that are as they were and stand under one more condition than before."""
    for delta in paired(change, config):
        if delta.base is None:
            continue
        tests = [
            g.stmt.test
            for g in delta.statements
            if isinstance(g.stmt, If) and delta.touched(g.stmt.line)
        ]
        for now in delta.statements if tests else ():
            what, calls = _does(now.stmt)
            if not what or not any(g is t for g in now.guards for t in tests):
                continue
            was = [g for g in delta.base_statements if equal_code(g.stmt, now.stmt)]
            again = [g for g in delta.statements if equal_code(g.stmt, now.stmt)]
            more = [
                g
                for g in now.guards
                if len(was) == 1 and not any(equal_code(g, old) for old in was[0].guards)
            ]
            if (
                len(was) == len(again) == len(more) == 1
                and len(now.guards) == len(was[0].guards) + 1
            ):
                test = condition(more[0], delta.unit) if any(more[0] is t for t in tests) else ""
                if test:
                    yield Narrowed(delta.head, calls, what, test, now.stmt.line)


def _does(stmt: Stmt) -> tuple[str, bool]:
    """What it sets, or (True) calls."""
    match stmt:
        case Assign(target=E.Attr() | E.Index() as target):
            return place(target), False
        case ExprStmt(value=E.Call() as call):
            return E.callee(call), True
        case _:
            return "", False
