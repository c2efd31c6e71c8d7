"""Linear forms: exact, canonical, and taken to the bounds of their loops from the inside out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks.eval.symbolic.affine import (
    Bounds,
    Linear,
    LoopRange,
    Offset,
    Symbol,
    constant_form,
    multiply,
    offset_of,
    symbol_form,
)

SYMBOLS = [
    Symbol("index", "idx", "idx"),
    Symbol("load", "n", "n"),
    Symbol("loop", "i"),
    Symbol("opaque", "x"),
]

terms = st.dictionaries(st.sampled_from(SYMBOLS), st.integers(-9, 9))
forms = st.builds(
    lambda parts, const: sum(
        (Linear(((s, 1),)).times(c) for s, c in parts.items()), constant_form(const)
    ),
    terms,
    st.integers(-99, 99),
)
values = st.fixed_dictionaries({s: st.integers(-50, 50) for s in SYMBOLS})


def at(form: Linear, point: dict[Symbol, int]) -> int:
    return sum(c * point[s] for s, c in form.terms) + form.const


@given(forms, forms, st.integers(-9, 9), values)
def test_arithmetic_is_that_of_the_values(a, b, k, point):
    assert at(a + b, point) == at(a, point) + at(b, point)
    assert at(a - b, point) == at(a, point) - at(b, point)
    assert at(a.times(k), point) == k * at(a, point)
    assert (a - b) + b == a


@given(forms, forms, values)
def test_replacing_a_symbol_is_evaluating_it_there(a, b, point):
    loop = SYMBOLS[2]
    inner = b.replace(loop, constant_form(0))
    assert at(a.replace(loop, inner), point) == at(a, {**point, loop: at(inner, point)})


def test_an_inner_loop_is_bounded_before_the_loop_that_bounds_it():
    n, j = symbol_form("loop", "n"), symbol_form("loop", "j")
    index = symbol_form("index", "idx", "idx")
    bounds = Bounds(
        {
            n.terms[0][0]: LoopRange(constant_form(1), constant_form(3), 1),
            j.terms[0][0]: LoopRange(constant_form(0), n.plus(-1), 2),
        }
    )
    assert bounds.extreme(index - n + j, top=True) == index.plus(-1)


def test_a_loop_without_a_bound_has_no_extreme():
    i = symbol_form("loop", "i")
    bounds = Bounds({i.terms[0][0]: LoopRange(constant_form(0), None)})
    assert bounds.extreme(i, top=True) is None
    assert bounds.extreme(i, top=False) == constant_form(0)


@pytest.mark.parametrize(
    ("form", "wanted"),
    [
        (constant_form(-1), Offset(-1)),
        (symbol_form("row", "b*L").plus(-1), Offset(-1)),
        (
            symbol_form("load", "p[b]", "p") - symbol_form("load", "n[b]", "n"),
            Offset(0, (("n", -1), ("p", 1))),
        ),
        (symbol_form("opaque", "x"), None),
        (None, None),
    ],
)
def test_an_offset_keeps_loads_and_drops_row_starts(form, wanted):
    assert offset_of(form) == wanted


def test_a_product_of_two_unknowns_is_the_same_whatever_the_order():
    a, b = symbol_form("opaque", "a"), symbol_form("opaque", "b")
    assert multiply(a, b) == multiply(b, a)
    assert multiply(constant_form(3), a) == a.times(3)
