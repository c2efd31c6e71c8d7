"""Changed statements of the logprob path: what they decide, and in which mode they run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Side
from checks.domain.hardware_reach import asks_for_new_name
from checks.domain.keys import asks_platform
from checks.domain.speculative_mode import SPECULATIVE, is_called_speculatively, speculative_mode_of
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Assign, ExprStmt, GuardedStmt, If, Stmt, guarded_statements
from checks.lang.source import language
from checks.rules.logprobs._column_count import changed_column_count, is_certainly_other
from checks.rules.logprobs._names import (
    ORDER,
    SEED,
    VALUE,
    WIDTH,
    is_about_logprobs,
    kind_of_constant,
    kind_of_statement,
    may_concern_logprobs,
)
from checks.rules.logprobs._statements import (
    assigned_names,
    called_names,
    does_something,
    key_of,
    last_line,
    local_names,
    only_carries,
)

_RANKS = {WIDTH: 0, SEED: 1, ORDER: 2, VALUE: 3}
_UNCERTAIN_RANK = 4


@dataclass(frozen=True, slots=True)
class LogprobChange:
    """A changed statement: `name` is what it sets or calls, `kind` what of a logprob it decides.

    `speculative` is True or False where only one mode runs it, None for both. `certain` means that
    the number of columns is certainly another one now.
    """

    path: str
    line: int
    text: str
    function: str
    name: str
    kind: str
    speculative: bool | None
    certain: bool = False
    calls: bool = False
    guards: tuple[E.Expr, ...] = ()

    @property
    def order(self) -> tuple[int, int, str, int]:
        """What to name first: what is certain, then what decides most, then what speaks of logprobs
        itself or calls what fills them."""
        rank = _RANKS[self.kind]
        if not self.certain:
            rank += _UNCERTAIN_RANK
        return rank, self._directness(), self.path, self.line

    def _directness(self) -> int:
        if is_about_logprobs(self.name):
            return 0
        return 1 if self.calls else 2


@dataclass(frozen=True, slots=True)
class _FunctionPair:
    """A function before and after the change, with the files that it stands in."""

    base: Function
    base_file: SourceFile
    head: Function
    head_file: SourceFile


def may_change_logprobs(change: ChangeSet, config: Config) -> bool:
    """Whether a changed file of the product names anything that may have to do with logprobs."""
    for file in change.files:
        if not language(file.path) or config.is_test(file.path):
            continue
        if file.head_lines() and _mentions_logprobs(file.head_path, Side.HEAD, change):
            return True
        if file.base_lines() and _mentions_logprobs(file.base_path, Side.BASE, change):
            return True
    return False


def _mentions_logprobs(path: str | None, side: Side, change: ChangeSet) -> bool:
    data = change.tree(side).read(path) if path else None
    return data is not None and may_concern_logprobs(data.decode("utf-8", "replace"))


def find_logprob_changes(change: ChangeSet, config: Config) -> Iterator[LogprobChange]:
    """The statements and constants of the head that do something else for logprobs than the base's
    did."""
    for file in change.files:
        head = change.head_unit(file)
        base = change.base_unit(file)
        if head is not None and base is not None and not config.is_test(head.path):
            yield from _changed_constants(base, head, change)
    for old, new in change.changed_functions():
        if old is None or new is None or config.is_test(new.path):
            continue
        new_file, old_file = change.unit(new.path), change.unit(old.path, Side.BASE)
        if new_file is None or old_file is None:
            continue
        if may_concern_logprobs(new_file.text_of(new)):
            pair = _FunctionPair(old, old_file, new, new_file)
            yield from _changed_statements(pair, change, config)


def _changed_constants(
    base: SourceFile, head: SourceFile, change: ChangeSet
) -> Iterator[LogprobChange]:
    # A macro with parameters has no value of its own.
    old_values = {c.name: c.value for c in base.constants if c.params is None}
    for constant in head.constants:
        name, new = constant.name, constant.value
        old, kind = old_values.get(name), kind_of_constant(name)
        if not kind or new is None or old is None or old == new:
            continue
        if not change.touches(head.path, constant.line, constant.line):
            continue
        is_speculative = SPECULATIVE.search(name) or name.startswith("SPEC_")
        yield LogprobChange(
            path=head.path,
            line=constant.line,
            text=head.excerpt(constant.line),
            function="",
            name=name,
            kind=kind,
            speculative=True if is_speculative else None,
            certain=kind == WIDTH and is_certainly_other(old, new),
        )


def _changed_statements(
    pair: _FunctionPair, change: ChangeSet, config: Config
) -> Iterator[LogprobChange]:
    now = [g for g in guarded_statements(pair.head.body) if does_something(g.stmt)]
    deciding = []
    for guarded in now:
        stmt = guarded.stmt
        if change.touches(pair.head_file.path, stmt.line, last_line(stmt)):
            decides = _what_it_decides(stmt, pair.head)
            if decides is not None:
                deciding.append((guarded, *decides))
    if not deciding:
        return
    before = [g for g in guarded_statements(pair.base.body) if does_something(g.stmt)]
    old_locals, new_locals = local_names(before), local_names(now)
    old_keys = {key_of(g.stmt, old_locals, change) for g in before}
    removed_lines = _removed_lines(pair.base_file, change)
    for guarded, name, kind in deciding:
        if key_of(guarded.stmt, new_locals, change) in old_keys:
            continue
        # The tests that were there do not turn on an option that this change brings.
        if asks_for_new_name(guarded.guards, change):
            continue
        if _is_only_moved(guarded.stmt, pair.head_file, removed_lines):
            continue
        yield _logprob_change(guarded, name, kind, before, pair, change, config)


def _what_it_decides(stmt: Stmt, function: Function) -> tuple[str, str] | None:
    """(name, kind) of what a statement decides for logprobs, None where it decides nothing."""
    if only_carries(stmt):
        return None
    if isinstance(stmt, If) and asks_platform((stmt.test,)):
        return None
    if isinstance(stmt, Assign) and stmt.value is not None and _measures(stmt.value):
        return None
    return kind_of_statement(assigned_names(stmt), called_names(stmt), function)


def _measures(value: E.Expr) -> bool:
    """Whether a value only says how much there is: `len(rows[0]) if rows else 0`, `rows.shape`."""
    match value:
        case E.Ternary(then=then, orelse=orelse):
            return _measures(then) and isinstance(orelse, E.Const)
        case E.Call(func=E.Name(id="len")) | E.Attr(name="shape"):
            return True
        case E.Index(base=base):
            return _measures(base)
        case _:
            return False


def _logprob_change(
    guarded: GuardedStmt,
    name: str,
    kind: str,
    before: list[GuardedStmt],
    pair: _FunctionPair,
    change: ChangeSet,
    config: Config,
) -> LogprobChange:
    stmt = guarded.stmt
    mode, certain = speculative_mode_of(guarded, pair.head), False
    if mode is None and is_called_speculatively(pair.head, change, config):
        mode = True
    if kind == WIDTH and isinstance(stmt, Assign):
        mode, certain = changed_column_count(guarded, before, mode)
    return LogprobChange(
        path=pair.head_file.path,
        line=stmt.line,
        text=pair.head_file.excerpt(stmt.line),
        function=pair.head.qualname,
        name=name,
        kind=kind,
        speculative=mode,
        certain=certain,
        calls=isinstance(stmt, ExprStmt),
        guards=guarded.guards,
    )


def _removed_lines(base: SourceFile, change: ChangeSet) -> set[str]:
    """The lines that the change took out of the file."""
    for file in change.files:
        if file.base_path == base.path:
            numbers = [n for n in file.base_lines() if n <= len(base.lines)]
            return {base.lines[n - 1].strip() for n in numbers}
    return set()


def _is_only_moved(stmt: Stmt, unit: SourceFile, removed_lines: set[str]) -> bool:
    """Whether every line of the statement was taken out elsewhere in the file."""
    lines = unit.lines[stmt.line - 1 : last_line(stmt)]
    return all(line.strip() in removed_lines for line in lines)
