"""When code runs: new ways out of a function or loop, and statements that got a condition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from checks.core.change import ChangeSet, FileChange
from checks.core.changed import ChangedFunction
from checks.core.code import equal_code
from checks.core.config import Config
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function
from checks.lang.ir.stmt import Assign, ExprStmt, For, GuardedStmt, If, Jump, Raise, Return, Stmt
from checks.summary.changes.conditions import condition_text
from checks.summary.changes.pairs import altered_functions
from checks.summary.changes.sides import in_base, in_head
from checks.summary.changes.state_changes import state_name

_Tested = tuple[If | For, E.Expr]


@dataclass(frozen=True, slots=True)
class NewExit:
    """A branch that only leaves (`how`: return, continue, break, raise), or a `while` loop."""

    function: Function
    how: str
    test: str
    line: int


@dataclass(frozen=True, slots=True)
class Narrowing:
    """A statement that stayed as it was and now runs only where `test` holds.

    `what` is the name that it calls (where `calls`), else the state that it sets.
    """

    function: Function
    calls: bool
    what: str
    test: str
    line: int


def find_new_exits(change: ChangeSet, config: Config) -> Iterator[NewExit]:
    """Branches that came with the change and only leave, and loops with a test.

    Where one about the same names went in the same hunk, that one was altered and none is new.
    """
    for delta, _, _ in altered_functions(change, config):
        file = change.changed(delta.head.path)
        if file is None:
            continue
        before = _with_tests(delta.base_statements)
        for stmt, test in _with_tests(delta.statements):
            how = _way_out(stmt)
            if not how or not delta.touched(stmt.line):
                continue
            if any(equal_code(test, old_test) for _, old_test in before):
                continue
            if _replaces_one_of(before, (stmt, test), file):
                continue
            text = condition_text(test, delta.unit)
            if text:
                yield NewExit(delta.head, how, text, stmt.line)


def _with_tests(statements: Sequence[GuardedStmt]) -> list[_Tested]:
    """The branches and loops that have a test, with it."""
    tested: list[_Tested] = []
    for guarded in statements:
        if isinstance(guarded.stmt, If | For) and guarded.stmt.test is not None:
            tested.append((guarded.stmt, guarded.stmt.test))
    return tested


def _way_out(stmt: If | For) -> str:
    """How the statement leaves or waits, empty where it does something else."""
    if isinstance(stmt, For):
        return "while"
    if len(stmt.then) != 1 or stmt.orelse:
        return ""
    match stmt.then[0]:
        case Return():
            return "return"
        case Raise():
            return "raise"
        case Jump(kind="continue" | "break" as kind):
            return kind
        case _:
            return ""


def _replaces_one_of(before: list[_Tested], tested: _Tested, file: FileChange) -> bool:
    """Whether a branch or loop about one of the same names went in the hunk of this one."""
    stmt, test = tested
    hunk = next(h for h in file.hunks if in_head(stmt.line, h))
    for old_stmt, old_test in before:
        if not in_base(old_stmt.line, hunk) or type(old_stmt) is not type(stmt):
            continue
        if E.names(old_test) & E.names(test):
            return True
    return False


def find_narrowings(change: ChangeSet, config: Config) -> Iterator[Narrowing]:
    """Statements that are as they were and stand under one more condition than before."""
    for delta, _, _ in altered_functions(change, config):
        new_tests = _touched_tests(delta)
        if not new_tests:
            continue
        for guarded in delta.statements:
            what, calls = _effect(guarded.stmt)
            if not what:
                continue
            test = _added_guard(guarded, delta)
            # A guard that is no test of a branch here is the rest of a block after `if: return`.
            if test is None or not any(test is new for new in new_tests):
                continue
            text = condition_text(test, delta.unit)
            if text:
                yield Narrowing(delta.head, calls, what, text, guarded.stmt.line)


def _touched_tests(delta: ChangedFunction) -> list[E.Expr]:
    """The tests of the branches that the change wrote."""
    tests = []
    for guarded in delta.statements:
        if isinstance(guarded.stmt, If) and delta.touched(guarded.stmt.line):
            tests.append(guarded.stmt.test)
    return tests


def _added_guard(guarded: GuardedStmt, delta: ChangedFunction) -> E.Expr | None:
    """The one condition that the statement runs under and did not run under before.

    None where there are more or fewer, or where the statement stands there twice.
    """
    before = [g for g in delta.base_statements if equal_code(g.stmt, guarded.stmt)]
    now = [g for g in delta.statements if equal_code(g.stmt, guarded.stmt)]
    if len(before) != 1 or len(now) != 1:
        return None
    old_guards = before[0].guards
    if len(guarded.guards) != len(old_guards) + 1:
        return None
    added = [g for g in guarded.guards if not any(equal_code(g, old) for old in old_guards)]
    return added[0] if len(added) == 1 else None


def _effect(stmt: Stmt) -> tuple[str, bool]:
    """(what it sets, False), or (what it calls, True); an empty name for any other statement."""
    match stmt:
        case Assign(target=E.Attr() | E.Index() as target):
            return state_name(target), False
        case ExprStmt(value=E.Call() as call):
            return E.callee(call), True
        case _:
            return "", False
