"""State that functions newly set, or set no more: fields, entries of tables, elements of arrays."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction
from checks.core.config import Config
from checks.core.words import has_word
from checks.domain.ops import calls_of
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function
from checks.lang.ir.stmt import Assign, guarded_statements
from checks.summary.changes.pairs import altered_functions


@dataclass(frozen=True, slots=True)
class StateChange:
    """What a function newly sets and what it sets no more, as `state_name` spells it."""

    function: Function
    gained: tuple[str, ...]
    lost: tuple[str, ...]
    line: int


def find_state_changes(change: ChangeSet, config: Config) -> Iterator[StateChange]:
    """State that a function sets and did not even mention before, or does not mention any more.

    What a function of the same file sets for it, and that it calls, is not lost.
    """
    for delta, base, _ in altered_functions(change, config):
        gained: dict[str, int] = {}
        for name, line in _state_set_by(delta.head).items():
            if not has_word(delta.base_text, _last_word(name)) and delta.touched(line):
                gained[name] = line
        lost = []
        for name in _state_set_by(base):
            if not has_word(delta.text, _last_word(name)):
                lost.append(name)
        if lost:
            set_by_helpers = _state_set_by_callees(delta)
            lost = [name for name in lost if name not in set_by_helpers]
        if gained or lost:
            line = min(gained.values(), default=delta.head.start_line)
            yield StateChange(delta.head, tuple(gained), tuple(lost), line)


def _state_set_by_callees(delta: ChangedFunction) -> set[str]:
    """What the functions of its file that it calls set."""
    called = {E.callee(call) for call, _ in calls_of(delta.head.body)}
    names: set[str] = set()
    for function in delta.unit.functions:
        if function.name in called:
            names.update(_state_set_by(function))
    return names


def _state_set_by(function: Function) -> dict[str, int]:
    """The state that it sets and that others can see, with the first line.

    Fields of a variable that it assigns itself are its own business.
    """
    assigns = []
    for guarded in guarded_statements(function.body):
        if isinstance(guarded.stmt, Assign):
            assigns.append(guarded.stmt)
    own = {stmt.target.id for stmt in assigns if isinstance(stmt.target, E.Name)}
    lines: dict[str, int] = {}
    for stmt in assigns:
        if not is_state(stmt.target) or E.root(stmt.target) in own:
            continue
        name = state_name(stmt.target)
        if name:
            lines.setdefault(name, stmt.line)
    return lines


def is_state(target: E.Expr) -> bool:
    """Whether an assignment to `target` sets more than a variable: `a.b`, `a[i]`."""
    return isinstance(target, E.Attr | E.Index)


def state_name(target: E.Expr) -> str:
    """What is set: `a.b`, `a["k"]`, and `a` for `a[i]`; empty for anything else."""
    match target:
        case E.Index(base=base, indices=(E.Const(value=str() as key),)):
            table = E.dotted(base)
            return f'{table}["{key}"]' if table else ""
        case E.Index(base=base):
            return state_name(base)
        case _:
            return E.dotted(target) or ""


def _last_word(name: str) -> str:
    """`k` of `a.b["k"]`, `b` of `a.b`."""
    return re.split(r"\W+", name.rstrip('"]'))[-1]
