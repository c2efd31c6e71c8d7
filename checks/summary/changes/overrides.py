"""Special cases that came or went: branches in which a function sets its state otherwise."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.code import equal_code
from checks.core.config import Config
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Assign, GuardedStmt, If
from checks.summary.changes.conditions import condition_text
from checks.summary.changes.layout import only_renamed
from checks.summary.changes.pairs import altered_functions
from checks.summary.changes.sides import in_base
from checks.summary.changes.state_changes import is_state, state_name
from checks.summary.changes.statements import assignment_text

# Pairs of (old name, new name).
ExchangedNames = Sequence[tuple[str, str]]
_UNSUPPORTED = re.compile(
    r"\bnot\s+(?:yet\s+)?support|unsupported|n't\s+support|no\s+support|不支持", re.I
)
_COMMENT = re.compile(r"\s*(?:#|//)\s*(.*)")


@dataclass(frozen=True, slots=True)
class Override:
    """`target` is set to `value` where `test` holds, since this change or (`gone`) until it."""

    function: Function
    target: str
    value: str
    test: str
    gone: bool
    line: int


@dataclass(frozen=True, slots=True)
class DroppedCase:
    """A case that a function treated apart until now; `note` there says it is not supported."""

    function: Function
    test: str
    note: str
    line: int


@dataclass(frozen=True, slots=True)
class _Version:
    """A function before or after the change: its statements, its file, and the changed lines."""

    statements: list[GuardedStmt]
    file: SourceFile
    lines: set[int]

    def changed_branches(self) -> list[If]:
        """The branches whose test stands on a changed line."""
        return [branch for branch in _ifs(self.statements) if branch.line in self.lines]


def find_dropped_cases(
    change: ChangeSet, config: Config, exchanged: ExchangedNames
) -> Iterator[DroppedCase]:
    """Cases that were refused, and that now go the way of all others.

    A test that only got other names (`exchanged`) is still there.
    """
    for delta, _, base_file in altered_functions(change, config):
        file = change.changed(delta.head.path)
        if file is None:
            continue
        texts_now = [condition_text(branch.test, delta.unit) for branch in _ifs(delta.statements)]
        old_branches = [branch for branch in _ifs(delta.base_statements) if branch.then]
        for hunk in file.hunks:
            for branch in old_branches:
                if not in_base(branch.line, hunk):
                    continue
                test = condition_text(branch.test, base_file)
                note = _unsupported_note(base_file, branch.line, branch.then[-1].end_line)
                if not test or not note:
                    continue
                if not any(only_renamed(test, text, exchanged) for text in texts_now):
                    yield DroppedCase(delta.head, test, note, hunk.head_start)


def _ifs(statements: Sequence[GuardedStmt]) -> list[If]:
    return [guarded.stmt for guarded in statements if isinstance(guarded.stmt, If)]


def _unsupported_note(unit: SourceFile, start: int, end: int) -> str:
    """The first comment in these lines that says that something is not supported."""
    for line in unit.lines[start - 1 : end]:
        comment = _COMMENT.match(line)
        if comment and _UNSUPPORTED.search(comment[1]):
            return comment[1].strip()
    return ""


def find_overrides(
    change: ChangeSet, config: Config, exchanged: ExchangedNames
) -> Iterator[Override]:
    """Assignments in branches that came or went whole, of state that the function sets anyway."""
    back = [(new, old) for old, new in exchanged]
    for delta, _, base_file in altered_functions(change, config):
        file = change.changed(delta.head.path)
        if file is None:
            continue
        head = _Version(delta.statements, delta.unit, file.head_lines())
        base = _Version(delta.base_statements, base_file, file.base_lines())
        yield from _overrides_only_in(head, base, back, delta.head, gone=False)
        yield from _overrides_only_in(base, head, exchanged, delta.head, gone=True)


def _overrides_only_in(
    version: _Version,
    other: _Version,
    exchanged: ExchangedNames,
    function: Function,
    *,
    gone: bool,
) -> Iterator[Override]:
    """What `version` sets and `other` does not, in a branch that stands on changed lines."""
    branches = version.changed_branches()
    if not branches:
        return
    assigned = [g.stmt.target for g in other.statements if isinstance(g.stmt, Assign)]
    set_in_other = {state_name(target) for target in assigned}
    for guarded in version.statements:
        stmt = guarded.stmt
        if not isinstance(stmt, Assign) or not is_state(stmt.target):
            continue
        if stmt.line not in version.lines or state_name(stmt.target) not in set_in_other:
            continue
        test = _innermost_guard(guarded, branches)
        if test is None:
            continue
        text = condition_text(test, version.file)
        target, value = assignment_text(stmt, version.file)
        if not text or not target or not value:
            continue
        if not _sets_the_same(other, guarded, text, exchanged):
            yield Override(function, target, value, text, gone, stmt.line)


def _innermost_guard(guarded: GuardedStmt, branches: Sequence[If]) -> E.Expr | None:
    """The condition right around the statement, where it is the test of one of the branches."""
    if not guarded.guards:
        return None
    innermost = guarded.guards[-1]
    if any(branch.test is innermost for branch in branches):
        return innermost
    return None


def _sets_the_same(
    version: _Version, guarded: GuardedStmt, test: str, exchanged: ExchangedNames
) -> bool:
    """Whether the version sets the same under the same condition, or under fewer conditions."""
    for candidate in version.statements:
        if not equal_code(candidate.stmt, guarded.stmt):
            continue
        if len(candidate.guards) < len(guarded.guards):
            return True
        if candidate.guards:
            text = condition_text(candidate.guards[-1], version.file)
            if only_renamed(test, text, exchanged):
                return True
    return False
