"""Whether the arguments of a call fit the parameters of what it calls, and which does not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Param


@dataclass(frozen=True, slots=True)
class Misfit:
    """Why an argument list does not fit.

    `kind` is `missing` (required parameters, in `name`), `unexpected` (a keyword), `doubled` (a
    parameter that is given by position and by name) or `many` (too many positional arguments).
    """

    kind: str
    name: str
    given: int
    wanted: int


@dataclass(frozen=True, slots=True)
class Arguments:
    """What a call passes, with `*` and `**` of known length spread out.

    `open_list` and `open_names` say that more may follow, by position and by name.
    """

    values: tuple[E.Expr, ...]
    keywords: tuple[tuple[str, E.Expr], ...]
    open_list: bool = False
    open_names: bool = False


def arguments_of(call: E.Call) -> Arguments:
    """The arguments of a call; what stands behind a `*` of unknown length is left out."""
    values: list[E.Expr] = []
    open_list = False
    for argument in call.args:
        match argument:
            case E.Unary(op="*", operand=E.Sequence(items=items)) if not any(map(_spreads, items)):
                values += items
            case E.Unary(op="*"):
                open_list = True
                break
            case _:
                values.append(argument)
    keywords: list[tuple[str, E.Expr]] = []
    open_names = False
    for name, value in call.keywords:
        if name not in ("", "**"):
            keywords.append((name, value))
            continue
        known = _known_names(value)
        if known is None:
            open_names = True
        else:
            keywords += known
    return Arguments(tuple(values), tuple(keywords), open_list, open_names)


def _spreads(item: E.Expr) -> bool:
    return isinstance(item, E.Unary) and item.op == "*"


def _known_names(value: E.Expr) -> list[tuple[str, E.Expr]] | None:
    """What `**{...}` or `**dict(a=1)` passes; None where that is not written out."""
    names: list[tuple[str, E.Expr]] = []
    match value:
        case E.Mapping(items=items):
            for key, item in items:
                if not isinstance(key, E.Const) or not isinstance(key.value, str):
                    return None
                names.append((key.value, item))
            return names
        case E.Call(func=E.Name(id="dict"), args=(), keywords=keywords):
            return None if any(name == "**" for name, _ in keywords) else list(keywords)
        case _:
            return None


def find_misfit(call: E.Call, params: Sequence[Param]) -> Misfit | None:
    """Why `call` does not fit `params`, or None where it fits or what it passes is not known."""
    return next(_misfits(arguments_of(call), params), None)


def _misfits(given: Arguments, params: Sequence[Param]) -> Iterator[Misfit]:
    kinds = {param.kind for param in params}
    positional = [param for param in params if param.kind == "positional"]
    named = [param for param in params if param.kind in ("positional", "keyword")]
    count = len(given.values) + len(given.keywords)
    names = {param.name for param in named}
    for keyword, _ in given.keywords:
        if keyword not in names and "kwargs" not in kinds:
            yield Misfit("unexpected", keyword, count, len(named))
    if len(given.values) > len(positional) and "args" not in kinds:
        yield Misfit("many", "", len(given.values), len(positional))
    by_position = [param.name for param in positional[: len(given.values)]]
    keywords = [keyword for keyword, _ in given.keywords]
    for name in by_position:
        if name in keywords:
            yield Misfit("doubled", name, count, len(named))
    if given.open_names:
        return
    # What stands behind `*values` may give any parameter that is taken by position.
    asked = [param for param in named if param.kind == "keyword" or not given.open_list]
    passed = {*by_position, *keywords}
    missing = [p.name for p in asked if p.default is None and p.name not in passed]
    if missing:
        yield Misfit("missing", ", ".join(missing), count, len(named))
