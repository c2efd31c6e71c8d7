"""What functions newly pass when they call others, and what they pass no more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction
from checks.core.code import equal_code
from checks.core.config import Config
from checks.domain.ops import calls_of
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.summary.changes.pairs import altered_functions
from checks.summary.changes.state_changes import state_name

_LEAST_REPETITIONS = 3
_CPP_CASTS = ("const_cast", "reinterpret_cast", "static_cast")


@dataclass(frozen=True, slots=True)
class ArgumentChange:
    """What a function newly passes in its calls of `callee`, and what it passes no more.

    `called` is the callee as it is written there: `self.runner.swap`.
    """

    function: Function
    callee: str
    called: str
    gained: tuple[str, ...]
    lost: tuple[str, ...]
    line: int


def find_argument_changes(change: ChangeSet, config: Config) -> Iterator[ArgumentChange]:
    """Functions that call another once, before and now, with other arguments."""
    for delta, base, base_file in altered_functions(change, config):
        old_calls, new_calls = _calls_made_once(base), _calls_made_once(delta.head)
        for name, new_call in new_calls.items():
            old_call = old_calls.get(name)
            if old_call is None or equal_code(old_call, new_call):
                continue
            old, old_unnamed = _arguments(old_call, base_file)
            new, new_unnamed = _arguments(new_call, delta.unit)
            gained = tuple(a for a in new if a not in old)
            lost: tuple[str, ...] = ()
            # What went may now stand inside an argument that has no name: `x if ready else y`.
            if equal_code(old_unnamed, new_unnamed):
                lost = tuple(a for a in old if a not in new)
            if gained or lost:
                called = E.dotted(new_call.func) or name
                yield ArgumentChange(delta.head, name, called, gained, lost, new_call.line)


def find_repetition_changes(change: ChangeSet, config: Config) -> Iterator[ArgumentChange]:
    """Functions that call another again and again, `swap(a, i, j)`, for other things now."""
    for delta, base, _ in altered_functions(change, config):
        before = _repeated_calls(base)
        for name, calls in _repeated_calls(delta.head).items():
            if name in before:
                yield from _repetition_change(delta, name, before[name], calls)


def _repetition_change(
    delta: ChangedFunction, name: str, old: dict[str, E.Call], new: dict[str, E.Call]
) -> Iterator[ArgumentChange]:
    """The first arguments of the calls of `name` that came, on lines of the change, or went."""
    added = [argument for argument in new if argument not in old]
    gained = tuple(argument for argument in added if delta.touched(new[argument].line))
    lost = tuple(argument for argument in old if argument not in new)
    if gained or lost:
        shown = new[added[0]] if added else next(iter(new.values()))
        called = E.dotted(shown.func) or name
        yield ArgumentChange(delta.head, name, called, gained, lost, shown.line)


def _repeated_calls(function: Function) -> dict[str, dict[str, E.Call]]:
    """For each callee that is called three times or more: its calls by their first argument.

    All its calls must have a name as first argument and the same other arguments.
    """
    calls: dict[str, list[E.Call]] = {}
    for call, _ in calls_of(function.body):
        if call.args and isinstance(call.func, E.Name) and "::" not in call.func.id:
            calls.setdefault(call.func.id, []).append(call)
    repeated = {}
    for name, same_callee in calls.items():
        if len(same_callee) < _LEAST_REPETITIONS or not _differ_in_first_only(same_callee):
            continue
        by_argument = {_written_name(call.args[0]): call for call in same_callee}
        if "" not in by_argument:
            repeated[name] = by_argument
    return repeated


def _differ_in_first_only(calls: list[E.Call]) -> bool:
    others = calls[0].args[1:]
    return all(equal_code(call.args[1:], others) for call in calls)


def _calls_made_once(function: Function) -> dict[str, E.Call]:
    """The calls by callee, of what the function calls in one place and without `*args`."""
    calls: dict[str, list[E.Call]] = {}
    for call, _ in calls_of(function.body):
        name = E.callee(call)
        if name:
            calls.setdefault(name, []).append(call)
    once = {}
    for name, same_callee in calls.items():
        if len(same_callee) == 1 and not E.starred(same_callee[0]):
            once[name] = same_callee[0]
    return once


def _arguments(call: E.Call, unit: SourceFile) -> tuple[list[str], tuple[E.Expr, ...]]:
    """(the arguments that can be named, as text; the expressions of the others)."""
    texts, unnamed = [], []
    for argument in call.args:
        text = _written_name(argument)
        if text:
            texts.append(text)
        else:
            unnamed.append(argument)
    for keyword, argument in call.keywords:
        text = _keyword_text(keyword, argument, unit)
        if text:
            texts.append(text)
        else:
            unnamed.append(argument)
    return texts, tuple(unnamed)


def _keyword_text(keyword: str, argument: E.Expr, unit: SourceFile) -> str:
    """`key=value`: as written where it has its line to itself, else where the value is a name."""
    if not keyword:
        return _written_name(argument)
    line = unit.excerpt(argument.line)
    balanced = line.count("(") == line.count(")")
    if balanced and line.startswith(f"{keyword}=") and line.endswith(","):
        value = line.rstrip(",").partition("=")[2]
    else:
        value = _written_name(argument)
    return f"{keyword}={value}" if value else ""


def _written_name(expr: E.Expr) -> str:
    """A name, a field or a literal without casts and `.data()`; empty for anything else."""
    match expr:
        case E.Const(value=value):
            return repr(value)
        case E.Cast(operand=operand):
            return _written_name(operand)
        case E.Call(func=E.Attr(base=base, name="data"), args=()):
            return _written_name(base)
        case E.Call(func=E.Name(id=name), args=(operand,)) if name in _CPP_CASTS:
            return _written_name(operand)
        case E.Index(indices=(E.Const(value=str()),)):
            return state_name(expr)
        case _:
            return E.dotted(expr) or ""
