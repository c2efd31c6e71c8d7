"""What became of a number of columns."""

from __future__ import annotations

from collections.abc import Iterator

from checks.domain.speculative_mode import polarity
from checks.lang.ir import expr as E
from checks.lang.ir.stmt import Assign, GuardedStmt, negate


def changed_width(
    guarded: GuardedStmt, before: list[GuardedStmt], mode: bool | None
) -> tuple[bool | None, bool]:
    """(mode, whether the number of columns certainly changed) of a changed width.

    Against `x if not speculative else 20`, a plain `x` changes only what the other arm was.
    """
    stmt = guarded.stmt
    assert isinstance(stmt, Assign)
    sets = [
        (g.guards, g.stmt)
        for g in before
        if isinstance(g.stmt, Assign) and g.stmt.target == stmt.target
    ]
    olds = [(guards, old.value) for guards, old in sets if old.value is not None]
    values = [value for guards, value in olds if guards == guarded.guards] or [
        value for _, value in olds
    ]
    if len(values) != 1 or stmt.value is None:
        return mode, False
    differ = list(_differences(values[0], stmt.value))
    modes = {polarity(test) if test is not None else None for test, _, _ in differ}
    told = modes.pop() if len(modes) == 1 else None
    return (told if told is not None else mode), any(other_number(a, b) for _, a, b in differ)


def _differences(old: E.Expr, new: E.Expr) -> Iterator[tuple[E.Expr | None, E.Expr, E.Expr]]:
    """(condition, before, after) for each arm of a conditional value that differs."""
    if old == new:
        return
    match old, new:
        case E.Ternary(test=a, then=x, orelse=y), E.Ternary(test=b, then=u, orelse=v) if a == b:
            arms = ((a, x, u), (negate(a), y, v))
        case E.Ternary(test=a, then=x, orelse=y), _:
            arms = ((a, x, new), (negate(a), y, new))
        case _, E.Ternary(test=b, then=u, orelse=v):
            arms = ((b, old, u), (negate(b), old, v))
        case _:
            yield None, old, new
            return
    yield from ((test, before, after) for test, before, after in arms if before != after)


def other_number(old: E.Expr, new: E.Expr) -> bool:
    """Whether two values certainly differ: two numbers, or a number against what depends on the request."""
    return isinstance(old, E.Const) != isinstance(new, E.Const) or (
        isinstance(old, E.Const) and old != new
    )
