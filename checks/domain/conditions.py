"""Conditions taken apart, so that two places in a class can be compared: can both run?"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import TypeVar

from checks.lang.ir import expr as E

K = TypeVar("K", bound=Hashable)


def split_condition(test: E.Expr, *, holds: bool) -> Iterator[tuple[E.Expr, bool]]:
    """The parts of `test` that are known true, or false, where `test` is true (or false)."""
    match test:
        case E.Unary(op="not", operand=operand):
            yield from split_condition(operand, holds=not holds)
        case E.Binary(op="and", left=left, right=right) if holds:
            yield from split_condition(left, holds=True)
            yield from split_condition(right, holds=True)
        case E.Binary(op="or", left=left, right=right) if not holds:
            yield from split_condition(left, holds=False)
            yield from split_condition(right, holds=False)
        case _:
            yield test, holds


def are_compatible(first: Mapping[K, bool], second: Mapping[K, bool]) -> bool:
    """Whether both sets of facts can hold together, as far as they speak of the same things."""
    common = first.keys() & second.keys()
    return all(first[fact] == second[fact] for fact in common)
