"""How much two expressions have in common, counted in the names and constants in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from checks.lang.ir import expr as E


def symbols(expr: E.Expr) -> Iterator[object]:
    """The names and constants in an expression, in source order."""
    for e in E.walk(expr):
        match e:
            case E.Name(id=name) | E.Attr(name=name):
                yield name
            case E.Const(value=value):
                yield value
            case _:
                pass


def count_symbols(expr: E.Expr) -> int:
    """How many names and constants there are.

    The more there are, the less two expressions are the same by chance.
    """
    return sum(1 for _ in symbols(expr))


def count_common_symbols(left: E.Expr, right: E.Expr) -> int:
    """How many names and constants the two share, each as often as it stands in both."""
    common = Counter(symbols(left)) & Counter(symbols(right))
    return sum(common.values())
