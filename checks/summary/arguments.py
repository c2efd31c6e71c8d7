"""What functions newly pass when they call others, and what they pass no more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.changed import equal_code
from checks.core.config import Config
from checks.domain.ops import calls_of
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.summary.pairs import paired
from checks.summary.state_changes import place

_OFTEN = 3


@dataclass(frozen=True, slots=True)
class Passed:
    """What a function newly passes in its calls of `callee`, written `called`, and what it passes no more."""

    function: Function
    callee: str
    called: str
    gained: tuple[str, ...]
    lost: tuple[str, ...]
    line: int


def passed(change: ChangeSet, config: Config) -> Iterator[Passed]:
    """Calls of which a function has one before and now, with other arguments, as far as they can be named."""
    for delta in paired(change, config):
        if delta.base is None or delta.base_unit is None:
            continue
        before, now = _single_calls(delta.base), _single_calls(delta.head)
        for name, call in now.items():
            if name in before and not equal_code(before[name], call):
                (old, odd), (new, other) = (
                    _arguments(before[name], delta.base_unit),
                    _arguments(call, delta.unit),
                )
                gained = tuple(a for a in new if a not in old)
                # What went may stand in an argument that has no name: `x if ready else y`.
                lost = tuple(a for a in old if a not in new) if equal_code(odd, other) else ()
                if gained or lost:
                    yield Passed(
                        delta.head, name, E.dotted(call.func) or name, gained, lost, call.line
                    )


def repeated(change: ChangeSet, config: Config) -> Iterator[Passed]:
    """Functions that a function calls again and again, `swap(a, i, j)`, for more or fewer things than before."""
    for delta in paired(change, config):
        before, now = (_repeated(f) if f else {} for f in (delta.base, delta.head))
        for name in [n for n in now if n in before]:
            old, new = before[name], now[name]
            first = next((c for key, c in new.items() if key not in old), next(iter(new.values())))
            gained = tuple(k for k in new if k not in old and delta.touched(new[k].line))
            lost = tuple(k for k in old if k not in new)
            if gained or lost:
                yield Passed(
                    delta.head, name, E.dotted(first.func) or name, gained, lost, first.line
                )


def _repeated(function: Function) -> dict[str, dict[str, E.Call]]:
    """Of every callee that is called three times and more, with a name as first argument and the same others."""
    found: dict[str, list[E.Call]] = {}
    for call, _ in calls_of(function.body):
        if call.args and isinstance(call.func, E.Name) and "::" not in call.func.id:
            found.setdefault(call.func.id, []).append(call)
    kept = {
        n: c
        for n, c in found.items()
        if len(c) >= _OFTEN and all(equal_code(x.args[1:], c[0].args[1:]) for x in c)
    }
    return {
        n: {_spelled(x.args[0]): x for x in c}
        for n, c in kept.items()
        if all(_spelled(x.args[0]) for x in c)
    }


def _single_calls(function: Function) -> dict[str, E.Call]:
    found: dict[str, list[E.Call]] = {}
    for call, _ in calls_of(function.body):
        if name := E.callee(call):
            found.setdefault(name, []).append(call)
    return {
        name: calls[0]
        for name, calls in found.items()
        if len(calls) == 1 and not E.starred(calls[0])
    }


def _arguments(call: E.Call, unit: SourceFile) -> tuple[list[str], tuple[E.Expr, ...]]:
    """The arguments that have a name, or a line of their own behind their keyword; and the others."""
    given = [("", a) for a in call.args] + list(call.keywords)
    said = [(_given(key, e, unit), e) for key, e in given]
    return [text for text, _ in said if text], tuple(e for text, e in said if not text)


def _given(key: str, e: E.Expr, unit: SourceFile) -> str:
    if not key:
        return _spelled(e)
    line = unit.text(e.line).strip()
    alone = line.startswith(f"{key}=") and line.endswith(",") and line.count("(") == line.count(")")
    said = line.rstrip(",").partition("=")[2] if alone else _spelled(e)
    return f"{key}={said}" if said else ""


def _spelled(e: E.Expr) -> str:
    """A name, a field or a literal as it is written, without casts and `.data()`; empty for anything else."""
    match e:
        case E.Const(value=value):
            return repr(value)
        case E.Cast(operand=operand):
            return _spelled(operand)
        case E.Call(func=E.Attr(base=base, name="data"), args=()):
            return _spelled(base)
        case E.Call(
            func=E.Name(id="const_cast" | "reinterpret_cast" | "static_cast"), args=(operand,)
        ):
            return _spelled(operand)
        case E.Index(indices=(E.Const(value=str()),)):
            return place(e)
        case _:
            return E.dotted(e) or ""
