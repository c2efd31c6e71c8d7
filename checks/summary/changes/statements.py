"""What changed inside functions, statement by statement: values that are set or returned, loops."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction
from checks.core.code import equal_code
from checks.core.config import Config
from checks.core.words import has_word
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Assign, For, Return, Stmt
from checks.summary.changes.pairs import altered_functions
from checks.summary.changes.sides import in_base, in_head
from checks.summary.changes.state_changes import is_state

_RETURN = re.compile(r"return\s+(.*?);?(?:\s+(?:#|//).*)?$")
_COMMENT = re.compile(r"\s(?:#|//).*")
_BIT_OPERATORS = (">>", "&", "<<", "|")


@dataclass(frozen=True, slots=True)
class StatementChange:
    """A statement of a function before and after, where each stands on one line.

    `kind`: `assigned` (`target` gets the value), `returned`, `loop` (its first line), or `unpacked`
    (a field that is newly taken out of a word, so `old` is empty).
    """

    kind: str
    function: Function
    target: str
    old: str
    new: str
    line: int


@dataclass(frozen=True, slots=True)
class _HunkStatements:
    """The statements of one function that a hunk removed and added; there are some of both."""

    delta: ChangedFunction
    base_file: SourceFile
    removed: list[Stmt]
    added: list[Stmt]


def find_statement_changes(change: ChangeSet, config: Config) -> Iterator[StatementChange]:
    """Every change of a statement that can be shown. One line may come twice, of two kinds."""
    yield from find_unpacked_fields(change, config)
    yield from find_state_assignments(change, config)
    hunks = list(_statements_by_hunk(change, config))
    for hunk in hunks:
        yield from _changed_loops(hunk)
    for hunk in hunks:
        yield from _changed_assignment(hunk)
        yield from _changed_return(hunk)


def find_unpacked_fields(change: ChangeSet, config: Config) -> Iterator[StatementChange]:
    """Variables that newly take a field out of a word: `actual_topk = meta[1] >> 8`."""
    for delta, _, _ in altered_functions(change, config):
        for guarded in delta.statements:
            stmt = guarded.stmt
            if not isinstance(stmt, Assign) or not isinstance(stmt.target, E.Name):
                continue
            if stmt.value is None or not _takes_bits(stmt.value):
                continue
            name = stmt.target.id
            _, value = assignment_text(stmt, delta.unit)
            if value and delta.touched(stmt.line) and not has_word(delta.base_code, name):
                yield StatementChange("unpacked", delta.head, name, "", value, stmt.line)


def _takes_bits(value: E.Expr) -> bool:
    return any(isinstance(e, E.Binary) and e.op in _BIT_OPERATORS for e in E.walk(value))


def find_state_assignments(change: ChangeSet, config: Config) -> Iterator[StatementChange]:
    """State (`a.b`, `a[i]`) that a function sets in one place, before and now, to another value."""
    for delta, _, base_file in altered_functions(change, config):
        before = _state_assignments(guarded.stmt for guarded in delta.base_statements)
        now = _state_assignments(guarded.stmt for guarded in delta.statements)
        for state, new in now.items():
            old = before.get(state, [])
            if len(old) != 1 or len(new) != 1 or equal_code(old[0].value, new[0].value):
                continue
            _, old_text = assignment_text(old[0], base_file)
            target, new_text = assignment_text(new[0], delta.unit)
            if target:
                line = new[0].line
                yield StatementChange("assigned", delta.head, target, old_text, new_text, line)


def _state_assignments(body: Iterable[Stmt]) -> dict[E.Expr, list[Assign]]:
    """Every plain assignment of state, by what it sets."""
    by_target: dict[E.Expr, list[Assign]] = {}
    for stmt in body:
        if isinstance(stmt, Assign) and stmt.op == "=" and is_state(stmt.target):
            by_target.setdefault(stmt.target, []).append(stmt)
    return by_target


def _statements_by_hunk(change: ChangeSet, config: Config) -> Iterator[_HunkStatements]:
    for delta, _, base_file in altered_functions(change, config):
        file = change.changed(delta.head.path)
        if file is None:
            continue
        before = [guarded.stmt for guarded in delta.base_statements]
        now = [guarded.stmt for guarded in delta.statements]
        for hunk in file.hunks:
            removed = [stmt for stmt in before if in_base(stmt.line, hunk)]
            added = [stmt for stmt in now if in_head(stmt.line, hunk)]
            if removed and added:
                yield _HunkStatements(delta, base_file, removed, added)


def _changed_loops(hunk: _HunkStatements) -> Iterator[StatementChange]:
    """Loops over the same variable whose bounds changed."""
    delta = hunk.delta
    removed = [stmt for stmt in hunk.removed if isinstance(stmt, For)]
    added = [stmt for stmt in hunk.added if isinstance(stmt, For)]
    for loop in added:
        old = [other for other in removed if equal_code(other.target, loop.target)]
        new = [other for other in added if equal_code(other.target, loop.target)]
        if len(old) != 1 or len(new) != 1:
            continue
        if equal_code((old[0].start, old[0].stop), (loop.start, loop.stop)):
            continue
        before = hunk.base_file.text(old[0].line).strip(" {")
        now = delta.unit.text(loop.line).strip(" {")
        yield StatementChange("loop", delta.head, "", before, now, loop.line)


def _changed_assignment(hunk: _HunkStatements) -> Iterator[StatementChange]:
    """The only assignment of the hunk, before and after, where it sets the same thing."""
    removed = [stmt for stmt in hunk.removed if isinstance(stmt, Assign)]
    added = [stmt for stmt in hunk.added if isinstance(stmt, Assign)]
    if len(removed) != 1 or len(added) != 1:
        return
    old, new = removed[0], added[0]
    if equal_code(old.value, new.value) or not equal_code(old.target, new.target):
        return
    if old.op != "=" or new.op != "=":
        return
    _, before = assignment_text(old, hunk.base_file)
    target, now = assignment_text(new, hunk.delta.unit)
    if isinstance(new.target, E.Name):
        # What stands before the sign may hold the type as well: `int64_t rows = ...`.
        target = new.target.id
    if before and now:
        yield _change_of("assigned", hunk, target, before, now, new)


def _changed_return(hunk: _HunkStatements) -> Iterator[StatementChange]:
    """The only `return` of the hunk, before and after."""
    removed = [stmt for stmt in hunk.removed if isinstance(stmt, Return)]
    added = [stmt for stmt in hunk.added if isinstance(stmt, Return)]
    if len(removed) != 1 or len(added) != 1:
        return
    old, new = removed[0], added[0]
    if equal_code(old.value, new.value):
        return
    before, now = _returned_text(old, hunk.base_file), _returned_text(new, hunk.delta.unit)
    if before and now:
        yield _change_of("returned", hunk, "", before, now, new)


def _change_of(
    kind: str, hunk: _HunkStatements, target: str, old: str, new: str, stmt: Stmt
) -> StatementChange:
    return StatementChange(kind, hunk.delta.head, target, old, new, stmt.line)


def _returned_text(stmt: Return, unit: SourceFile) -> str:
    """What stands behind `return`, empty where it goes over several lines."""
    if stmt.end_line != stmt.line:
        return ""
    match = _RETURN.match(unit.excerpt(stmt.line))
    return match[1] if match else ""


def assignment_text(stmt: Assign, unit: SourceFile) -> tuple[str, str]:
    """What stands left and right of the sign, as written.

    The right side is empty where it goes over several lines; both are where the sign is on none.
    """
    line = _COMMENT.sub("", unit.excerpt(stmt.line))
    left, sign, right = line.partition(f" {stmt.op} ")
    if not sign:
        return "", ""
    if stmt.end_line != stmt.line:
        return left, ""
    return left, right.rstrip("; ")
