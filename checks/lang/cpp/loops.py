"""`for (int i = a; i < b; i += c)` as a counted loop."""

from __future__ import annotations

from dataclasses import dataclass, replace

from checks.lang.ir.expr import Binary, Const, Expr, Name, Unary
from checks.lang.ir.stmt import Assign, Stmt

_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "!=": "!="}


@dataclass(frozen=True, slots=True)
class CountedLoop:
    """`target` runs from `start` to `stop` (excluded) by `step`.

    `before` are the other initialisers, with the counter's own declaration if it has one; `others`
    are the other updates; `rest` is what else the condition asks.
    """

    target: Name
    start: Expr | None
    stop: Expr
    step: Expr
    before: tuple[Stmt, ...]
    others: tuple[Stmt, ...]
    rest: Expr | None


def counted(before: tuple[Stmt, ...], test: Expr, steps: tuple[Stmt, ...]) -> CountedLoop | None:
    """The counted form of a loop; None where it has none (`i *= 2`, a linked list)."""
    parts = _conjunction(test)
    for position, update in enumerate(steps):
        if not isinstance(update, Assign) or not isinstance(update.target, Name):
            continue
        target = update.target
        step = _step(update)
        bound = _find_bound(parts, target.id)
        if step is None or bound is None:
            continue
        op, limit, bound_position = bound
        stop = _stop(op, limit, step)
        if stop is None:
            continue
        start, initialisers = _start(before, target.id)
        others = steps[:position] + steps[position + 1 :]
        rest = _join(parts[:bound_position] + parts[bound_position + 1 :], test.line)
        return CountedLoop(target, start, stop, step, initialisers, others, rest)
    return None


def _conjunction(test: Expr) -> list[Expr]:
    """`a`, `b`, `c` of `a && b && c`."""
    parts: list[Expr] = []
    waiting = [test]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Binary) and part.op == "and":
            waiting += [part.right, part.left]
        else:
            parts.append(part)
    return parts


def _find_bound(parts: list[Expr], name: str) -> tuple[str, Expr, int] | None:
    """The first comparison of `name`: its operator, the other side, and which part it is."""
    for position, part in enumerate(parts):
        if not isinstance(part, Binary) or part.op not in _MIRRORED:
            continue
        if isinstance(part.left, Name) and part.left.id == name:
            return part.op, part.right, position
        if isinstance(part.right, Name) and part.right.id == name:
            return _MIRRORED[part.op], part.left, position
    return None


def _join(parts: list[Expr], line: int) -> Expr | None:
    joined: Expr | None = None
    for part in parts:
        joined = part if joined is None else Binary("and", joined, part, line=line)
    return joined


def _step(update: Assign) -> Expr | None:
    """`c` of `i += c`, `i -= c` (negated), `i = i + c`."""
    match update:
        case Assign(op="+=", value=value):
            return value
        case Assign(op="-=", value=value) if value is not None:
            return _negative(value)
        case Assign(target=target, op="=", value=Binary(op="+", left=left, right=right)):
            if left == target:
                return right
            return left if right == target else None
        case Assign(target=target, op="=", value=Binary(op="-", left=left, right=right)):
            return _negative(right) if left == target else None
        case _:
            return None


def _negative(value: Expr) -> Expr:
    return Unary("-", value, line=value.line)


def _stop(op: str, limit: Expr, step: Expr) -> Expr | None:
    """The first value that is not reached; None where the step leads away from the limit."""
    goes_down = isinstance(step, Unary) and step.op == "-"
    size = step.operand if isinstance(step, Unary) else step
    match op:
        case "<" if not goes_down:
            return limit
        case ">" if goes_down:
            return limit
        case "<=" if not goes_down:
            return _shifted(limit, 1)
        case ">=" if goes_down:
            return _shifted(limit, -1)
        # `i != n; i += 2` may step over n.
        case "!=" if size == Const(1):
            return limit
        case _:
            return None


def _shifted(limit: Expr, by: int) -> Expr:
    """`limit + 1` or `limit - 1`."""
    if isinstance(limit, Const) and isinstance(limit.value, int):
        return Const(limit.value + by, line=limit.line)
    return Binary("+" if by > 0 else "-", limit, Const(1, line=limit.line), line=limit.line)


def _start(before: tuple[Stmt, ...], name: str) -> tuple[Expr | None, tuple[Stmt, ...]]:
    """What the counter starts at, and the initialisers that stay.

    The counter's own declaration stays without its value, because it has the type.
    """
    start: Expr | None = Name(name)
    stay: list[Stmt] = []
    for stmt in before:
        match stmt:
            case Assign(target=Name(id=target), op="=", value=value) if (
                target == name and value is not None
            ):
                start = value
                if stmt.declares is not None:
                    stay.append(replace(stmt, value=None))
            case _:
                stay.append(stmt)
    return start, tuple(stay)
