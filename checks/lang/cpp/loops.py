"""`for (int i = a; i < b; i += c)` as a counted loop."""

from __future__ import annotations

from dataclasses import dataclass

from checks.lang.ir.expr import Binary, Const, Expr, Name, Unary
from checks.lang.ir.stmt import Assign, Stmt

_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "!=": "!="}


@dataclass(frozen=True, slots=True)
class Counted:
    """`target` runs from `start` to `stop` (excluded) by `step`. `before` are the other initialisers, with the
    counter's own declaration if it has one; `others` the other updates; `rest` what else the condition asks."""

    target: Name
    start: Expr | None
    stop: Expr
    step: Expr
    before: tuple[Stmt, ...]
    others: tuple[Stmt, ...]
    rest: Expr | None


def counted(before: tuple[Stmt, ...], test: Expr, steps: tuple[Stmt, ...]) -> Counted | None:
    """The counted form of a loop, None when it has none (`i *= 2`, a list, two conditions on two counters)."""
    bounds, rest = _bounds(test)
    for position, update in enumerate(steps):
        step = _step(update)
        if step is None or not isinstance(update, Assign) or not isinstance(update.target, Name):
            continue
        target = update.target
        bound = bounds.get(target.id)
        if bound is None:
            continue
        op, stop = bound
        stop_at = _stop(op, stop, step)
        if stop_at is None:
            continue
        start, first = _start(before, target.id)
        others = steps[:position] + steps[position + 1 :]
        return Counted(target, start, stop_at, step, first, others, _without(test, target.id, rest))
    return None


def _bounds(test: Expr) -> tuple[dict[str, tuple[str, Expr]], list[Expr]]:
    """Per name the comparison that bounds it (the first of each), and all parts of the conjunction."""
    parts: list[Expr] = []
    stack = [test]
    while stack:
        one = stack.pop()
        if isinstance(one, Binary) and one.op == "and":
            stack += [one.right, one.left]
        else:
            parts.append(one)
    found: dict[str, tuple[str, Expr]] = {}
    for part in parts:
        if not isinstance(part, Binary) or part.op not in _MIRRORED:
            continue
        if isinstance(part.left, Name):
            found.setdefault(part.left.id, (part.op, part.right))
        if isinstance(part.right, Name):
            found.setdefault(part.right.id, (_MIRRORED[part.op], part.left))
    return found, parts


def _without(test: Expr, name: str, parts: list[Expr]) -> Expr | None:
    """The conjunction without the first comparison that bounds `name`."""
    rest: Expr | None = None
    dropped = False
    for part in parts:
        if not dropped and name in _bounds(part)[0]:
            dropped = True
            continue
        rest = part if rest is None else Binary("and", rest, part, line=test.line)
    return rest


def _step(update: Stmt) -> Expr | None:
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
        case Assign(target=target, op="=", value=Binary(op="-", left=left, right=right)) if (
            left == target
        ):
            return _negative(right)
        case _:
            return None


def _negative(value: Expr) -> Expr:
    return Unary("-", value, line=value.line)


def _stop(op: str, stop: Expr, step: Expr) -> Expr | None:
    """The first value that is not reached, where the direction of the step fits the comparison."""
    down = isinstance(step, Unary) and step.op == "-"
    size = step.operand if isinstance(step, Unary) else step
    one = Const(1, line=stop.line)
    match op, down:
        case ("<", False) | (">", True):
            return stop
        case ("<=", False):
            return _shifted(stop, 1) or Binary("+", stop, one, line=stop.line)
        case (">=", True):
            return _shifted(stop, -1) or Binary("-", stop, one, line=stop.line)
        case ("!=", _) if size == Const(1):
            return stop
        case _:
            return None


def _shifted(stop: Expr, by: int) -> Expr | None:
    if isinstance(stop, Const) and isinstance(stop.value, int):
        return Const(stop.value + by, line=stop.line)
    return None


def _start(before: tuple[Stmt, ...], name: str) -> tuple[Expr | None, tuple[Stmt, ...]]:
    """What the counter starts at, and the initialisers that stay: a declaration without its value keeps the type."""
    start: Expr | None = Name(name)
    stay: list[Stmt] = []
    for stmt in before:
        match stmt:
            case Assign(target=Name(id=found), op="=", value=value) if (
                found == name and value is not None
            ):
                start = value
                if stmt.declares is not None:
                    stay.append(
                        Assign(
                            stmt.target,
                            "=",
                            None,
                            stmt.declares,
                            stmt.static,
                            line=stmt.line,
                            end_line=stmt.end_line,
                        )
                    )
            case _:
                stay.append(stmt)
    return start, tuple(stay)
