"""Evaluation against Python and a small oracle of C; linear forms against evaluation."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from checks.eval.constants.evaluate import evaluate
from checks.eval.constants.values import UNKNOWN
from checks.eval.linear import difference, form_of
from checks.lang.ir.expr import (
    Attr,
    Binary,
    Call,
    Cast,
    Const,
    Expr,
    Index,
    Name,
    Sequence,
    Ternary,
    Unary,
)
from checks.lang.python.parse import parse_python

NAMES = ("a", "b", "c")


def python(source: str) -> Expr:
    (constant,) = parse_python("m.py", f"X = {source}\n".encode()).constants
    assert constant.value is not None
    return constant.value


def text(expr: Expr) -> str:
    """An expression as Python source."""
    match expr:
        case Const(value=value):
            return repr(value)
        case Name(id=name):
            return name
        case Unary(op=op, operand=operand):
            return f"({op} {text(operand)})"
        case Binary(op=op, left=left, right=right):
            return f"({text(left)} {op} {text(right)})"
        case Ternary(test=test, then=then, orelse=orelse):
            return f"({text(then)} if {text(test)} else {text(orelse)})"
    raise AssertionError(expr)


def expressions(operators: tuple[str, ...], unary: tuple[str, ...]) -> st.SearchStrategy[Expr]:
    leaf = st.one_of(
        st.integers(-70, 70).map(lambda n: Const(n)), st.sampled_from(NAMES).map(lambda n: Name(n))
    )
    return st.recursive(
        leaf,
        lambda inner: st.one_of(
            st.builds(lambda op, a, b: Binary(op, a, b), st.sampled_from(operators), inner, inner),
            st.builds(lambda op, a: Unary(op, a), st.sampled_from(unary), inner),
            st.builds(lambda a, b, c: Ternary(a, b, c), inner, inner, inner),
        ),
        max_leaves=12,
    )


PYTHON = expressions(
    ("+", "-", "*", "//", "%", "<<", ">>", "&", "|", "^", "<", "==", ">=", "and", "or"),
    ("-", "~", "not", "+"),
)
VALUES = st.fixed_dictionaries({name: st.integers(-40, 40) for name in NAMES})


@settings(max_examples=400, deadline=None)
@given(PYTHON, VALUES)
def test_python_like_python(expr: Expr, env: dict[str, int]) -> None:
    found = evaluate(expr, env)
    source = text(expr)
    try:
        wanted = eval(source, {}, dict(env))
    except (ZeroDivisionError, ValueError, OverflowError, MemoryError):
        assert found is UNKNOWN
        return
    if found is UNKNOWN:
        # The one thing that Python does and evaluation does not: numbers of thousands of bits.
        assert "<<" in source
    else:
        assert (found, type(found)) == (wanted, type(wanted))


@settings(max_examples=200, deadline=None)
@given(PYTHON, VALUES, st.sampled_from(NAMES))
def test_an_answer_without_a_value_holds_for_every_value(
    expr: Expr, env: dict[str, int], missing: str
) -> None:
    part = {name: value for name, value in env.items() if name != missing}
    for language in ("python", "cpp"):
        found = evaluate(expr, part, language=language)
        whole = evaluate(expr, env, language=language)
        assert found is UNKNOWN or whole is UNKNOWN or found == whole


TYPES = {
    "int8_t": (8, 1),
    "uint8_t": (8, 0),
    "int": (32, 1),
    "unsigned int": (32, 0),
    "int64_t": (64, 1),
    "uint64_t": (64, 0),
}


def wrap(value: int, bits: int, signed: int) -> int:
    value %= 1 << bits
    return value - (1 << bits) if signed and value >= 1 << (bits - 1) else value


def oracle(expr: Expr) -> tuple[int, int, int]:
    """(value, bits, signed) by the C standard. Raises ArithmeticError where it leaves it open."""
    match expr:
        case Cast(type=name, operand=operand):
            bits, signed = TYPES[name]
            return wrap(oracle(operand)[0], bits, signed), bits, signed
        case Const(value=int(value)):
            return value, 32, 1
        case Unary(op=op, operand=operand):
            value, bits, signed = widened(oracle(operand))
            return result(-value if op == "-" else ~value, bits, signed)
        case Binary(op="<<" | ">>" as op, left=left, right=right):
            (value, bits, signed), (count, _, _) = widened(oracle(left)), oracle(right)
            if not 0 <= count < bits:
                raise ArithmeticError
            return (
                (value >> count if op == ">>" else wrap(value << count, bits, signed)),
                bits,
                signed,
            )
        case Binary(op=op, left=left, right=right):
            return arithmetic(op, widened(oracle(left)), widened(oracle(right)))
    raise AssertionError(expr)


def widened(value: tuple[int, int, int]) -> tuple[int, int, int]:
    return value if value[1] >= 32 else (value[0], 32, 1)


def arithmetic(op: str, x: tuple[int, int, int], y: tuple[int, int, int]) -> tuple[int, int, int]:
    bits = max(x[1], y[1])
    signed = int(all(s for _, b, s in (x, y) if b == bits))
    a, b = wrap(x[0], bits, signed), wrap(y[0], bits, signed)
    match op:
        case "/" | "%":
            quotient = abs(a) // abs(b) * (1 if a * b >= 0 else -1)
            return result(quotient if op == "/" else a - b * quotient, bits, signed)
        case "<" | "==" | ">=":
            return int({"<": a < b, "==": a == b, ">=": a >= b}[op]), 32, 1
    return result(
        {"+": a + b, "-": a - b, "*": a * b, "&": a & b, "|": a | b, "^": a ^ b}[op], bits, signed
    )


def result(value: int, bits: int, signed: int) -> tuple[int, int, int]:
    if signed and wrap(value, bits, 1) != value:
        raise ArithmeticError
    return wrap(value, bits, signed), bits, signed


C = st.recursive(
    st.integers(0, 2**31 - 1).map(lambda n: Const(n)) | st.integers(0, 40).map(lambda n: Const(n)),
    lambda inner: st.one_of(
        st.builds(
            lambda op, a, b: Binary(op, a, b),
            st.sampled_from(("+", "-", "*", "/", "%", "<<", ">>", "&", "|", "^", "<", "==", ">=")),
            inner,
            inner,
        ),
        st.builds(lambda op, a: Unary(op, a), st.sampled_from("-~"), inner),
        st.builds(lambda name, a: Cast(name, a), st.sampled_from(sorted(TYPES)), inner),
    ),
    max_leaves=8,
)


@settings(max_examples=600, deadline=None)
@given(C)
def test_c_like_the_standard(expr: Expr) -> None:
    found = evaluate(expr, language="cpp")
    try:
        wanted = oracle(expr)[0]
    except ArithmeticError:
        assert found is UNKNOWN
        return
    assert found == wanted


@pytest.mark.parametrize(
    ("expr", "types", "expected"),
    [
        (Binary("/", Const(-7), Const(2)), {}, -3),
        (Binary("%", Const(-7), Const(2)), {}, -1),
        (Binary("-", Name("a"), Const(4)), {"a": "uint32_t"}, 2**32 - 1),
        (Binary("-", Name("a"), Const(4)), {"a": "int"}, -1),
        (Binary("-", Name("a"), Const(4)), {}, -1),
        (Binary("-", Name("a"), Const(4, "u")), {}, UNKNOWN),
        (Binary("<", Unary("-", Const(1)), Const(1, "u")), {}, False),
        (Binary("<<", Const(1), Const(31)), {}, -(2**31)),
        (Binary("<<", Const(1), Const(32)), {}, UNKNOWN),
        (Binary("<<", Const(1, "ull"), Const(40)), {}, 2**40),
        (Binary("+", Const(2**31 - 1), Const(1)), {}, UNKNOWN),
        (Cast("T", Const(300)), {"T": "unsigned char"}, 44),
        (Cast("T", Const(300)), {}, UNKNOWN),
        (Cast("int", Const(2.9)), {}, 2),
        (Cast("bool", Const(7)), {}, True),
        (Call(Name("std::min"), (Const(3), Name("a"))), {}, 3),
        (Binary("and", Name("unset"), Const(0)), {}, False),
        (Index(Name("rows"), (Const(-1),)), {}, UNKNOWN),
        (Index(Index(Name("rows"), (Const(1),)), (Const(0),)), {}, 7),
        (Const(3000000000), {}, 3000000000),
    ],
)
def test_c(expr: Expr, types: dict[str, str], expected: object) -> None:
    env = {"a": 3, "rows": [[1, 2], [7]]}
    assert evaluate(expr, env, language="cpp", types=types) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("rows[1, 0]", 7),
        ("rows[1][0]", 7),
        ("rows[-1][0]", 7),
        ("rows[0][1:]", [2]),
        ("rows[5]", UNKNOWN),
        ("rows[0] + [unset]", [1, 2, UNKNOWN]),
        ("[unset, 4][1]", 4),
        ("[unset] == [1]", UNKNOWN),
        ("4 in [unset]", UNKNOWN),
        ("len([unset, unset])", 2),
        ("self.k * 2", 10),
        ("[i * a for i in range(4) if i % 2]", [3, 9]),
        ("sum(a for a in rows[0])", 3),
        ("max(1, a) if a else 0", 3),
        ("None if unset else 1", UNKNOWN),
        ("0 and unset", 0),
        ("unset and 0", UNKNOWN),
        ("a is None", False),
        ("{'x': 3, 'y': unset}['x']", 3),
        ("'ab' + 'c'", "abc"),
        ("'%1000000000d' % 1", UNKNOWN),
        ("1 << 10**9", UNKNOWN),
        ("9 ** 9 ** 9", UNKNOWN),
        ("[0] * 10**9", UNKNOWN),
        ("int('12') // 5", 2),
        ("open('x')", UNKNOWN),
        ("f'{a}'", UNKNOWN),
        ("lambda: 1", UNKNOWN),
    ],
)
def test_python(source: str, expected: object) -> None:
    env = {"a": 3, "rows": [[1, 2], [7]], "self.k": 5}
    assert evaluate(python(source), env) == expected


def test_resolve_is_asked_first_but_not_for_a_bound_name() -> None:
    def resolve(expr: Expr) -> object:
        return 100 if expr == Name("i") or expr == Attr(Name("m"), "K") else UNKNOWN

    assert evaluate(python("m.K + i"), {}, resolve=resolve) == 200
    assert evaluate(python("[i for i in range(2)]"), {}, resolve=resolve) == [0, 1]


def test_unknown_is_no_condition() -> None:
    with pytest.raises(TypeError):
        bool(UNKNOWN)


LINEAR = expressions(("+", "-", "*", "<<"), ("-", "+")).filter(lambda e: "if" not in text(e))
ANY = expressions(("+", "-", "*", "//", "%", "&", ">>"), ("-", "+", "~")).filter(
    lambda e: "if" not in text(e)
)


def terms(expr: Expr) -> dict[str, int] | None:
    """The linear form of an expression: the factor of each product of symbols, as text."""
    form = form_of(expr)
    return None if form is None else {"*".join(key): value for key, value in form.terms.items()}


@settings(max_examples=300, deadline=None)
@given(LINEAR, VALUES)
def test_linear_is_sound(expr: Expr, env: dict[str, int]) -> None:
    form = terms(expr)
    value = evaluate(expr, env)
    assume(form is not None and value is not UNKNOWN)
    assert form is not None
    if any("<<" in key for key in form):
        return
    parts = [
        math.prod(env[n] for n in key.split("*") if n) * factor for key, factor in form.items()
    ]
    assert sum(parts) == value


@settings(max_examples=200, deadline=None)
@given(ANY, ANY, VALUES)
def test_difference_is_sound(left: Expr, right: Expr, env: dict[str, int]) -> None:
    gap = difference(left, right)
    a, b = evaluate(left, env), evaluate(right, env)
    if gap is not None and isinstance(a, int) and isinstance(b, int):
        assert a - b == gap


@pytest.mark.parametrize(
    ("left", "right", "gap"),
    [
        ("cur_step_idx + 1 - n", "1 + cur_step_idx - n", 0),
        ("cur_step_idx - n", "cur_step_idx + 1 - n", -1),
        ("a[i + 1]", "a[1 + i]", 0),
        ("bid * (k + 1) + i", "i + bid * k + bid", 0),
        ("(n + 3) // 4 + 1", "(3 + n) // 4", 1),
        ("x << 4", "16 * x", 0),
        ("s.len + 2", "s.len", 2),
        ("a", "b", None),
        ("next(it)", "next(it)", None),
        ("0.5 + a", "a", None),
    ],
)
def test_difference(left: str, right: str, gap: int | None) -> None:
    assert difference(python(left), python(right)) == gap


def test_linear_form() -> None:
    assert terms(python("cur_step_idx + 1 - n")) == {"": 1, "cur_step_idx": 1, "n": -1}
    assert terms(python("a - a")) == {}
    assert terms(Cast("int64_t", Name("i"))) == {"i": 1}
    assert terms(Cast("int8_t", Name("i"))) == {"(int8_t)(i)": 1}
    assert terms(Sequence("tuple", ())) is None
    assert terms(python("n + 2 - 3 - m + n")) == {"": -1, "m": -1, "n": 2}
    assert form_of(python("n + 2 - 3 - m + n")) == form_of(python("2 * n - m - 1"))
