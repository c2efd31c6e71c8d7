"""What a change did to the number of top-k columns."""

from __future__ import annotations

from collections.abc import Iterator

from checks.domain.speculative_mode import polarity
from checks.lang.ir import expr as E
from checks.lang.ir.stmt import Assign, GuardedStmt, negate


def changed_column_count(
    guarded: GuardedStmt, before: list[GuardedStmt], mode: bool | None
) -> tuple[bool | None, bool]:
    """(mode, whether the number of columns certainly changed) of a changed assignment of a width.

    The mode is True under speculative decoding alone, False without it, None for both; it is `mode`
    where the values say nothing. Against `x if not speculative else 20`, a plain `x` changes only
    what the other arm was.
    """
    stmt = guarded.stmt
    assert isinstance(stmt, Assign)
    old_value = _only_value_before(guarded, before)
    if old_value is None or stmt.value is None:
        return mode, False
    differences = list(_differing_arms(old_value, stmt.value))
    certain = any(is_certainly_other(old, new) for _, old, new in differences)
    modes = {polarity(test) if test is not None else None for test, _, _ in differences}
    only_mode = modes.pop() if len(modes) == 1 else None
    return (mode if only_mode is None else only_mode), certain


def _only_value_before(guarded: GuardedStmt, before: list[GuardedStmt]) -> E.Expr | None:
    """The value that the target had under the same conditions, else under any; None for several."""
    target = guarded.stmt.target if isinstance(guarded.stmt, Assign) else None
    all_values, same_guards = [], []
    for old in before:
        if not isinstance(old.stmt, Assign) or old.stmt.target != target:
            continue
        if old.stmt.value is None:
            continue
        all_values.append(old.stmt.value)
        if old.guards == guarded.guards:
            same_guards.append(old.stmt.value)
    values = same_guards or all_values
    return values[0] if len(values) == 1 else None


def _differing_arms(old: E.Expr, new: E.Expr) -> Iterator[tuple[E.Expr | None, E.Expr, E.Expr]]:
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
    for test, before, after in arms:
        if before != after:
            yield test, before, after


def is_certainly_other(old: E.Expr, new: E.Expr) -> bool:
    """Whether two values certainly differ: two numbers, or a number and what depends on the
    request."""
    if isinstance(old, E.Const) != isinstance(new, E.Const):
        return True
    return isinstance(old, E.Const) and old != new
