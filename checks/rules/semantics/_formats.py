"""Literal texts with places for values, and how many values are given."""

from __future__ import annotations

import builtins
import re
from dataclasses import dataclass
from string import Formatter

from checks.lang.ir import expr as E

_LEVELS = frozenset(
    {"debug", "info", "warning", "warn", "error", "exception", "critical", "fatal"}
    | {"debug_once", "info_once", "warning_once", "error_once"}
)
_LOGGER = re.compile(r"(?:^|[._])log(?:ger|ging)?$", re.I)
_PLACE = re.compile(r"%(?:%|(\(\w*\))?[-+ #0]*(\*|\d+)?(?:\.(\*|\d+))?[hlL]?[diouxXeEfFgGcrsa])")
# What an exception that Python brings does with its arguments is known: nothing.
_EXCEPTIONS = frozenset(
    name
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, Exception) and not issubclass(value, OSError)
)
_LONGEST_EXCERPT = 60


@dataclass(frozen=True, slots=True)
class Misfit:
    """A text with `places` for values that gets `values` of them.

    `kind` is the message's key: `log`, `percent`, `braces` or `exception`.
    """

    kind: str
    text: str
    places: int
    values: int


def misfit_of(expr: E.Expr) -> Misfit | None:
    """What is wrong with the one text that `expr` puts values into; None where nothing is."""
    match expr:
        case E.Binary(
            op="%", left=E.Const(value=str() as text), right=E.Sequence(kind="tuple", items=values)
        ):
            return _unless_equal("percent", text, _percent_places(text), values)
        case E.Call(func=E.Attr(base=E.Const(value=str() as text), name="format"), args=args):
            return _braces(text, args) if not E.starred(expr) else None
        case E.Call(func=func, args=(E.Const(value=str() as text), *values)) if values:
            return _passed(func, text, tuple(values))
        case _:
            return None


def _passed(func: E.Expr, text: str, values: tuple[E.Expr, ...]) -> Misfit | None:
    """A text with values behind it, as a logger or an exception gets them."""
    places = _percent_places(text)
    if _is_logger(func) and "{" not in text:
        return _unless_equal("log", text, places, values)
    is_exception = isinstance(func, E.Name) and func.id in _EXCEPTIONS
    if is_exception and places == len(values):
        return Misfit("exception", _excerpt(text), places, len(values))
    return None


def _is_logger(func: E.Expr) -> bool:
    if not isinstance(func, E.Attr) or func.name not in _LEVELS:
        return False
    return _LOGGER.search(E.dotted(func.base) or "") is not None


def _unless_equal(
    kind: str, text: str, places: int | None, values: tuple[E.Expr, ...]
) -> Misfit | None:
    if places is None or places == len(values) or any(map(_is_spread, values)):
        return None
    return Misfit(kind, _excerpt(text), places, len(values))


def _is_spread(value: E.Expr) -> bool:
    return isinstance(value, E.Unary) and value.op in ("*", "**")


def _percent_places(text: str) -> int | None:
    """How many values `text` takes; None where its places have names."""
    count = 0
    for place in _PLACE.finditer(text):
        if place[1] is not None:
            return None
        if place[0] != "%%":
            count += 1 + [place[2], place[3]].count("*")
    return count


def _braces(text: str, args: tuple[E.Expr, ...]) -> Misfit | None:
    """`text.format(*args)` that asks for more than there is."""
    try:
        names = [name for _, name, _, _ in Formatter().parse(text) if name is not None]
    except ValueError:
        return None
    roots = [re.split(r"[.\[]", name, maxsplit=1)[0] for name in names]
    numbers = [int(root) + 1 for root in roots if root.isdigit()]
    places = max([roots.count(""), *numbers])
    return Misfit("braces", _excerpt(text), places, len(args)) if places > len(args) else None


def _excerpt(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_EXCERPT else line[: _LONGEST_EXCERPT - 1] + "…"
