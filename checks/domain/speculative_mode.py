"""Whether code runs under speculative decoding alone, told by its names and conditions."""

from __future__ import annotations

import re

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


def speculative_mode_of(guarded: GuardedStmt, function: Function) -> bool | None:
    """True where only speculative decoding runs the statement, False where only decoding without it
    does, None where nothing says so."""
    for guard in guarded.guards:
        mode = polarity(guard)
        if mode is not None:
            return mode
    file = function.path.rsplit("/", 1)[-1]
    names = [f"{file} {function.qualname}", *(param.name for param in function.params)]
    for top in expressions_of(guarded.stmt):
        names += _words_in(top)
    return True if any(SPECULATIVE.search(name) for name in names) else None


def is_called_speculatively(function: Function, change: ChangeSet, config: Config) -> bool:
    """Whether every caller that goes by this name is of speculative decoding."""
    if function.owner or language(function.path) != "python":
        return False
    callers: list[str] = []
    for hit in change.head.find(function.name):
        is_call = f"{function.name}(" in hit.text and f"def {function.name}(" not in hit.text
        if not is_call or config.is_test(hit.path):
            continue
        unit = change.unit(hit.path)
        caller = unit.function_at(hit.line) if unit is not None else None
        callers.append(caller.qualname if caller is not None else "")
    return bool(callers) and all(SPECULATIVE.search(caller) for caller in callers)


def _words_in(expr: E.Expr) -> list[str]:
    """Every name, attribute and string in `expr`."""
    words: list[str] = []
    for part in E.walk(expr):
        match part:
            case E.Name(id=word) | E.Attr(name=word) | E.Const(value=str() as word):
                words.append(word)
    return words


def polarity(test: E.Expr) -> bool | None:
    """Whether a condition holds only under speculative decoding (True), only without it (False), or
    says nothing (None)."""
    match test:
        case E.Unary(op="not", operand=operand):
            return _opposite(polarity(operand))
        case E.Binary(op="and", left=left, right=right):
            of_left = polarity(left)
            return polarity(right) if of_left is None else of_left
        case E.Binary(op="is" | "==", left=left, right=E.Const(value=None | False)):
            return _opposite(polarity(left))
        case E.Binary(op="is-not" | "!=", left=left, right=E.Const(value=None | False)):
            return polarity(left)
        case E.Binary(op="==" | "is" | "in", left=left):
            # `method == "mtp"` holds under speculation, its opposite says nothing.
            return True if polarity(left) else None
        case E.Name() | E.Attr() | E.Index() | E.Call():
            text = E.dotted(test) or " ".join(_words_in(test))
            return True if SPECULATIVE.search(text) else None
        case _:
            return None


def _opposite(mode: bool | None) -> bool | None:
    return None if mode is None else not mode
