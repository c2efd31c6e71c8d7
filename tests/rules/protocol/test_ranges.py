"""What a field can be under conditions: the least value too large, found by trying all of them."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from checks.domain.bitfields.packing import BitField
from checks.domain.bitfields.ranges import Ranges
from checks.eval.integers import CIntType
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, Param, SourceFile
from checks.lang.ir.stmt import Assign, GuardedStmt

X = E.Name("x")
UINT8 = CIntType(8, False)
FUNCTION = Function("f", "f", "a.cc", (Param("x", "uint8_t"),), 1, 1, tuple)
UNIT = SourceFile("a.cc", "cpp", ())

COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


@st.composite
def conditions(draw: st.DrawFn) -> tuple[E.Expr, Callable[[int], bool]]:
    """A condition on `x`, as an expression and as a function of x."""
    op = draw(st.sampled_from(sorted(COMPARISONS)))
    limit = draw(st.integers(-4, 260))
    mask = draw(st.none() | st.sampled_from((1, 7, 255)))
    add = draw(st.integers(-3, 3))
    left: E.Expr = X if mask is None else E.Binary("&", X, E.Const(mask))
    left = E.Binary("+", left, E.Const(add))
    negated = draw(st.booleans())
    test: E.Expr = E.Binary(op, left, E.Const(limit))
    if negated:
        test = E.Unary("not", test)

    def holds(x: int) -> bool:
        kept = x if mask is None else x & mask
        return COMPARISONS[op](kept + add, limit) is not negated

    return test, holds


@settings(max_examples=300, deadline=None)
@given(conditions(), conditions(), st.sampled_from(("and", "or")), st.integers(1, 7))
def test_overflow_is_the_least_value_that_the_conditions_allow(
    first: tuple[E.Expr, Callable[[int], bool]],
    second: tuple[E.Expr, Callable[[int], bool]],
    joined: str,
    width: int,
) -> None:
    test = E.Binary(joined, first[0], second[0])
    at = GuardedStmt(Assign(E.Name("word"), "=", X, line=2, end_line=2), (test,), ())
    join = all if joined == "and" else any
    allowed = [x for x in range(1 << width, 1 << UINT8.bits) if join((first[1](x), second[1](x)))]
    overflow = Ranges(FUNCTION, UNIT, at).overflow(BitField(X, 0, None, None), width)
    assert overflow == (allowed[0] if allowed else None)
