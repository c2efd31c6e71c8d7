"""Whether code runs under speculative decoding alone, told by its names and conditions."""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.domain.ops import expressions_of
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function
from checks.lang.ir.stmt import GuardedStmt
from checks.lang.source import language

SPECULATIVE = re.compile(
    r"(?i)specul|spec_(method|decod|config)|proposer|draft|accept_(num|tokens)|\bmtp|_mtp"
)
"""In a name of what belongs to speculative decoding."""


def mode_of(guarded: GuardedStmt, function: Function) -> bool | None:
    """True where only speculative decoding runs the statement, False where only decoding without it does."""
    for guard in guarded.guards:
        mode = polarity(guard)
        if mode is not None:
            return mode
    where = f"{function.path.rsplit('/', 1)[-1]} {function.qualname}"
    if SPECULATIVE.search(where) or any(SPECULATIVE.search(p.name) for p in function.params):
        return True
    used = {n for top in expressions_of(guarded.stmt) for e in E.walk(top) for n in _words(e)}
    return True if any(SPECULATIVE.search(w) for w in used) else None


def called_speculatively(function: Function, change: ChangeSet, config: Config) -> bool:
    """Whether every caller that goes by this name is of speculative decoding."""
    if function.owner or language(function.path) != "python":
        return False
    callers: list[str] = []
    for hit in change.head.find(function.name):
        if (
            f"{function.name}(" in hit.text
            and f"def {function.name}(" not in hit.text
            and not config.is_test(hit.path)
        ):
            unit = change.unit(hit.path)
            caller = unit.function_at(hit.line) if unit is not None else None
            callers.append(caller.qualname if caller is not None else "")
    return bool(callers) and all(SPECULATIVE.search(c) for c in callers)


def _words(expr: E.Expr) -> Iterator[str]:
    match expr:
        case E.Name(id=name) | E.Attr(name=name) | E.Const(value=str() as name):
            yield name


def polarity(test: E.Expr) -> bool | None:
    """Whether a condition holds only under speculative decoding (True), only without it (False), or says nothing."""
    match test:
        case E.Unary(op="not", operand=operand):
            inner = polarity(operand)
            return None if inner is None else not inner
        case E.Binary(op="and", left=left, right=right):
            known = [p for p in (polarity(left), polarity(right)) if p is not None]
            return known[0] if known else None
        case E.Binary(op="is" | "==" as op, left=left, right=E.Const(value=None | False)) if op:
            inner = polarity(left)
            return None if inner is None else not inner
        case E.Binary(op="is-not" | "!=", left=left, right=E.Const(value=None | False)):
            return polarity(left)
        case E.Binary(op="==" | "is" | "in", left=left):
            return True if polarity(left) else None
        case E.Name() | E.Attr() | E.Index() | E.Call():
            whole = E.dotted(test) or " ".join(w for e in E.walk(test) for w in _words(e))
            return True if SPECULATIVE.search(whole) else None
        case _:
            return None
