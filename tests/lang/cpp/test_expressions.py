"""C++ expressions in the common language."""

from __future__ import annotations

import pytest

from checks.lang.cpp.parse import parse_cpp
from checks.lang.cpp.snippets import expression
from checks.lang.ir.expr import (
    Attr,
    Binary,
    Call,
    Cast,
    Const,
    Expr,
    Index,
    Mapping,
    Name,
    Sequence,
    Ternary,
    Unary,
    Unknown,
    callee,
)
from checks.lang.ir.stmt import Assign, Stmt

A, B, C, N = Name("a"), Name("b"), Name("c"), Name("n")
ONE = Const(1)


def body(source: str) -> tuple[Stmt, ...]:
    unit = parse_cpp("f.cu", b"void f() {\n" + source.encode() + b"\n}\n")
    assert unit.broken == ()
    (function,) = unit.functions
    return function.body


def value(source: str) -> Expr:
    stmt = body(f"r = {source};")[-1]
    assert isinstance(stmt, Assign)
    assert stmt.value is not None
    return stmt.value


def call(name: str, *args: Expr, template: str = "") -> Call:
    return Call(Name(name), args, template=template)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("0x1F", Const(31)),
        ("0b101", Const(5)),
        ("017", Const(15)),
        ("1'000'000", Const(1000000)),
        ("10_km", Unknown("10_km")),
        ("1.5f", Const(1.5)),
        (".5e-3", Const(0.0005)),
        ("0x1p4", Const(16.0)),
        ("'a'", Const(97)),
        ("'\\n'", Const(10)),
        ("'\\x1f'", Const(31)),
        ('"a\\tb\\"c"', Const('a\tb"c')),
        ('"a" "b"\n  "c"', Const("abc")),
        ('R"(a\\n"b)"', Const('a\\n"b')),
        ("true", Const(True)),
        ("nullptr", Const(None)),
        ("NULL", Const(None)),
        ("-1", Unary("-", ONE)),
        ("- 1", Unary("-", ONE)),
        ("a - 1", Binary("-", A, ONE)),
        ("a -1", Binary("-", A, ONE)),
        ("std::min(a, b)", call("std::min", A, B)),
        ("a->b.c", Attr(Attr(A, "b"), "c")),
        ("this->a", Attr(Name("this"), "a")),
        ("a[b][1]", Index(Index(A, (B,)), (ONE,))),
        ("*a", Unary("*", A)),
        ("&a[b]", Unary("&", Index(A, (B,)))),
        ("!a && b || c", Binary("or", Binary("and", Unary("not", A), B), C)),
        ("not a and b", Binary("and", Unary("not", A), B)),
        ("a | (b << 8)", Binary("|", A, Binary("<<", B, Const(8)))),
        ("(a) & b", Binary("&", A, B)),
        ("(a) - b", Binary("-", A, B)),
        ("~a ^ b", Binary("^", Unary("~", A), B)),
        ("a < b ? b : -c", Ternary(Binary("<", A, B), B, Unary("-", C))),
        ("(int)a", Cast("int", A)),
        ("(const float *)a", Cast("const float *", A)),
        ("int64_t(a)", Cast("int64_t", A)),
        ("int{a}", Cast("int", A)),
        ("static_cast<uint32_t>(a)", Cast("uint32_t", A)),
        ("reinterpret_cast<T *>(a)", Cast("T *", A)),
        ("T(a)", call("T", A)),
        ("dim3{a, b}", call("dim3", A, B)),
        ("a.data<int64_t>()", Call(Attr(A, "data"), template="int64_t")),
        ("a->template data<T>()", Call(Attr(A, "data"), template="T")),
        ("f<T, 3>(a)", call("f", A, template="T, 3")),
        ("n::f<T>(a)", call("n::f", A, template="T")),
        ("std::numeric_limits<float>::max()", call("std::numeric_limits<float>::max")),
        ("sizeof(int)", call("sizeof", Name("int"))),
        ("sizeof(a)", call("sizeof", A)),
        ("sizeof(a->b)", call("sizeof", Attr(A, "b"))),
        ("{1, {a}}", Sequence("init", (ONE, Sequence("init", (A,))))),
        ("{.a = 1, .b = c}", Mapping(((A, ONE), (B, C)))),
        ("new int[n]", call("new", Name("int"), N)),
        ("a /* b */ + c  // d\n", Binary("+", A, C)),
        ("[](int x) { return x; }", Unknown("[](int x) {...}")),
    ],
)
def test_expression(source: str, expected: Expr) -> None:
    assert value(source) == expected


def test_a_launch_keeps_its_grid_and_its_template() -> None:
    (stmt,) = body("k<T, 4><<<grid, 32 * n, 0, s>>>(a);")
    grid = (Name("grid"), Binary("*", Const(32), N), Const(0), Name("s"))
    assert getattr(stmt, "value", None) == Call(Name("k"), (A,), launch=grid, template="T, 4")


def test_types_passed_to_a_macro_keep_their_spelling() -> None:
    expr = value("SIZED(a, unsigned int, int64_t)")
    assert expr == call("SIZED", A, Name("unsigned int"), Name("int64_t"))


def test_suffixes_are_kept() -> None:
    expr = value("10ULL")
    assert isinstance(expr, Const)
    assert expr.suffix == "ull"


@pytest.mark.parametrize("source", ["a ? b++ : c", "a && b++", "a || (b = c)"])
def test_an_effect_that_may_not_happen_is_not_moved_out(source: str) -> None:
    stmts = body(f"r = {source};")
    assert len(stmts) == 1
    assert "Unknown" in repr(stmts)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (b"256", Const(256)),
        (b"(256)", Const(256)),
        (b"a", A),
        (b"(a + 1) * b", Binary("*", Binary("+", A, ONE), B)),
        (b"do { f(); } while (0)", Unknown("do { f(); } while (0)")),
        (b"a ## b", Unknown("a ## b")),
        (b"1, 2", Unknown("1, 2")),
    ],
)
def test_an_expression_alone(source: bytes, expected: Expr) -> None:
    found = expression(source, 7)
    assert found == expected
    assert found.line == 7


def test_lines_of_expressions() -> None:
    expr = value("f(a,\n      b)")
    assert isinstance(expr, Call)
    assert callee(expr) == "f"
    assert [arg.line for arg in expr.args] == [2, 3]
