"""Calls that another one makes: of a function that is handed over with its arguments.

`Process(target=run, args=(rank,))`, `pool.submit(run, rank)`, `run.remote(rank)` and
`partial(run, rank)` are calls of `run`, at another time or in another place.
"""

from __future__ import annotations

import re
from dataclasses import replace

from checks.lang.ir import expr as E

# What takes a function and its arguments behind it, with how many arguments before.
_TAKERS = {
    "submit": 0,
    "to_thread": 0,
    "call_soon": 0,
    "call_soon_threadsafe": 0,
    "run_in_executor": 1,
    "call_later": 1,
}
_STARTED = frozenset({"Process", "Thread"})
_ANYTHING = E.Unknown("")


def handed_over(call: E.Call) -> E.Call | None:
    """The call that `call` has made; None where it is handed no function."""
    name = E.callee(call)
    if name in _STARTED:
        return _started(call)
    if name == "remote":
        return _remote(call)
    if name == "partial" and call.args:
        return _partly_given(call)
    if name not in _TAKERS or len(call.args) <= _TAKERS[name]:
        return None
    function, *args = call.args[_TAKERS[name] :]
    return _call(call, function, tuple(args), call.keywords)


def _call(
    call: E.Call,
    function: E.Expr,
    args: tuple[E.Expr, ...],
    keywords: tuple[tuple[str, E.Expr], ...],
) -> E.Call | None:
    if not isinstance(function, E.Name | E.Attr):
        return None
    return replace(call, func=function, args=args, keywords=keywords)


def _started(call: E.Call) -> E.Call | None:
    """`Process(target=run, args=(rank,), kwargs={"port": 1})`."""
    given = dict(call.keywords)
    if "target" not in given:
        return None
    args = given.get("args", E.Sequence("tuple", ()))
    names = (("**", given["kwargs"]),) if "kwargs" in given else ()
    return _call(call, given["target"], (E.Unary("*", args),), names)


def _remote(call: E.Call) -> E.Call | None:
    """`run.remote(rank)`, `run.options(gpus=1).remote(rank)`, `ray.remote(run).remote(rank)`."""
    match call.func:
        case E.Attr(base=E.Call(func=E.Attr(base=function, name="options"))):
            pass
        case E.Attr(base=function):
            pass
        case _:
            return None
    match function:
        case E.Call(args=(wrapped,)) if E.callee(function) == "remote":
            function = wrapped
        case _:
            pass
    return _call(call, function, call.args, call.keywords)


def _partly_given(call: E.Call) -> E.Call | None:
    """`partial(run, rank)`: more may follow."""
    function, *args = call.args
    more = E.Unary("*", _ANYTHING)
    return _call(call, function, (*args, more), (*call.keywords, ("**", _ANYTHING)))


def pattern_of(name: str) -> str:
    """What stands in a text that hands over the function `name`."""
    takers = "|".join(sorted(_TAKERS))
    return (
        rf"\b{re.escape(name)}\s*\.(?:remote|options)\b|\btarget\s*=\s*[\w.]*\b{re.escape(name)}\b"
        rf"|\b(?:partial|remote|{takers})\(\s*(?:[\w.]+,\s*)?[\w.]*\b{re.escape(name)}\b"
    )
