"""C++ statements in the common language."""

from __future__ import annotations

import pytest

from checks.lang.cpp.parse import parse_cpp
from checks.lang.ir.expr import (
    Attr,
    Binary,
    Call,
    Const,
    Expr,
    Index,
    Name,
    Sequence,
    Unary,
    Unknown,
)
from checks.lang.ir.stmt import (
    Assert,
    Assign,
    Define,
    ExprStmt,
    For,
    GuardedStmt,
    If,
    Jump,
    Opaque,
    Raise,
    Return,
    Stmt,
    With,
    guarded_statements,
)

A, B, C, INDEX, N, X = (Name(name) for name in "abcinx")
ONE, ZERO = Const(1), Const(0)
EMPTY = Call(Name("f"))


def body(source: str) -> tuple[Stmt, ...]:
    """The body of a function on one line, so that every statement is on line 1."""
    unit = parse_cpp("f.cu", f"void f() {{ {source} }}".encode())
    assert unit.broken == ()
    (function,) = unit.functions
    return function.body


def assign(target: Expr, value: Expr | None, op: str = "=", declares: str | None = None) -> Assign:
    return Assign(target, op, value, declares, line=1, end_line=1)


def run(value: Expr = EMPTY) -> ExprStmt:
    return ExprStmt(value, line=1, end_line=1)


def when(test: Expr, then: tuple[Stmt, ...], orelse: tuple[Stmt, ...] = ()) -> If:
    return If(test, then, orelse, line=1, end_line=1)


def jump(kind: str) -> Jump:
    return Jump(kind, line=1, end_line=1)


def same(name: Expr, value: int) -> Binary:
    return Binary("==", name, Const(value))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("int x;", (assign(X, None, declares="int"),)),
        ("const int64_t *x = a;", (assign(X, A, declares="const int64_t *"),)),
        ("auto* x = &a;", (assign(X, Unary("&", A), declares="auto*"),)),
        ("const T& x = a;", (assign(X, A, declares="const T&"),)),
        ("struct msg x;", (assign(X, None, declares="msg"),)),
        (
            "int a = 1, *b, c[2][n] = {0};",
            (
                assign(A, ONE, declares="int"),
                assign(B, None, declares="int *"),
                assign(C, Sequence("init", (ZERO,)), declares="int[2][n]"),
            ),
        ),
        ("extern __shared__ char x[];", (assign(X, None, declares="__shared__ char[]"),)),
        ("int x(a);", (assign(X, A, declares="int"),)),
        ("int x{1};", (assign(X, ONE, declares="int"),)),
        ("dim3 x(n);", (assign(X, Call(Name("dim3"), (N,)), declares="dim3"),)),
        ("T<int> x(1, n);", (assign(X, Call(Name("T<int>"), (ONE, N)), declares="T<int>"),)),
        ("auto [a, b] = x;", (assign(Sequence("tuple", (A, B)), X, declares="auto"),)),
        ("x++;", (assign(X, ONE, "+="),)),
        ("--x;", (assign(X, ONE, "-="),)),
        ("x |= a;", (assign(X, A, "|="),)),
        ("x = a = 0;", (assign(A, ZERO), assign(X, A))),
        ("x = 0, a = 1;", (assign(X, ZERO), assign(A, ONE))),
        ("a[i++] = x;", (assign(Index(A, (INDEX,)), X), assign(INDEX, ONE, "+="))),
        ("a[++i] = x;", (assign(INDEX, ONE, "+="), assign(Index(A, (INDEX,)), X))),
        ("return;", (Return(None, line=1, end_line=1),)),
        ("return {a, b};", (Return(Sequence("init", (A, B)), line=1, end_line=1),)),
        ("throw f();", (Raise(EMPTY, line=1, end_line=1),)),
        ('PD_THROW("no");', (Raise(Call(Name("PD_THROW"), (Const("no"),)), line=1, end_line=1),)),
        ("using T = int;", (Define("T", line=1, end_line=1),)),
        ("typedef int T;", (Define("T", line=1, end_line=1),)),
        (";", ()),
        ("{ f(); }", (With("block", (run(),), line=1, end_line=1),)),
        ("do { f(); } while (0);", (With("block", (run(),), line=1, end_line=1),)),
        ("do f(); while (a);", (For(None, (run(),), test=A, line=1, end_line=1),)),
        ("while (a) f();", (For(None, (run(),), test=A, line=1, end_line=1),)),
        ("for (;;) break;", (For(None, (jump("break"),), test=Const(True), line=1, end_line=1),)),
        (
            "for (auto& x : a) f();",
            (For(X, (run(),), iterable=A, line=1, end_line=1),),
        ),
        ("if (a) f(); else return;", (when(A, (run(),), (Return(None, line=1, end_line=1),)),)),
        (
            "if (a) f(); else if (b) f();",
            (when(A, (run(),), (when(B, (run(),)),)),),
        ),
        (
            "if (T* x = f()) f();",
            (assign(X, EMPTY, declares="T*"), when(X, (run(),))),
        ),
        (
            "if (int x = 1; a) f();",
            (assign(X, ONE, declares="int"), when(A, (run(),))),
        ),
        (
            "try { f(); } catch (const E& e) { return; }",
            (With("try", (run(),), ((Return(None, line=1, end_line=1),),), line=1, end_line=1),),
        ),
    ],
)
def test_statement(source: str, expected: tuple[Stmt, ...]) -> None:
    assert body(source) == expected


def test_static_is_marked() -> None:
    assert body("static int x = 0;") == (Assign(X, "=", ZERO, "int", True, line=1, end_line=1),)


@pytest.mark.parametrize(
    ("head", "start", "stop", "step"),
    [
        ("int i = 0; i < n; i++", ZERO, N, ONE),
        ("int i = 0; i < n; ++i", ZERO, N, ONE),
        ("int i = a; i <= n; i += 2", A, Binary("+", N, ONE), Const(2)),
        ("int i = a; i <= 7; i = i + b", A, Const(8), B),
        ("int i = 0; n > i; i++", ZERO, N, ONE),
        ("int i = 0; i != n; i++", ZERO, N, ONE),
        ("int i = n - 1; i >= 0; i--", Binary("-", N, ONE), Const(-1), Unary("-", ONE)),
        ("int i = n; i > a; i -= 4", N, A, Unary("-", Const(4))),
    ],
)
def test_counted_loops(head: str, start: Expr, stop: Expr, step: Expr) -> None:
    declared, loop = body(f"for ({head}) f();")
    assert declared == assign(INDEX, None, declares="int")
    assert loop == For(INDEX, (run(),), start, stop, step, line=1, end_line=1)


def test_a_loop_with_more_than_a_counter() -> None:
    stmts = body("for (int i = 0, x = n; i < n && a; i++, x--) f();")
    assert stmts == (
        assign(INDEX, None, declares="int"),
        assign(X, N, declares="int"),
        For(INDEX, (run(), assign(X, ONE, "-=")), ZERO, N, ONE, test=A, line=1, end_line=1),
    )


@pytest.mark.parametrize(
    "head", ["int i = 1; i < n; i *= 2", "int i = 0; i < n; i--", "int i = n; i; i >>= 1"]
)
def test_other_loops_keep_their_test_and_update(head: str) -> None:
    declared, loop = body(f"for ({head}) f();")
    assert isinstance(declared, Assign)
    assert declared.value is not None
    assert isinstance(loop, For)
    assert loop.start is None
    assert loop.test is not None
    assert isinstance(loop.body[-1], Assign)


def test_a_loop_condition_with_an_effect_is_not_understood() -> None:
    assert body("while (n-- > 0) f();") == (
        For(None, (run(),), test=Binary(">", Unknown("n--"), ZERO), line=1, end_line=1),
    )


def test_switch_is_a_chain() -> None:
    stmts = body(
        "switch (x) { case 1: case 2: a = 1; break; case 3: { b = 1; break; } default: c = 1; }"
    )
    assert stmts == (
        when(
            Binary("or", same(X, 1), same(X, 2)),
            (assign(A, ONE),),
            (when(same(X, 3), (assign(B, ONE),), (assign(C, ONE),)),),
        ),
    )


def test_a_case_falls_through() -> None:
    stmts = body("switch (x) { case 1: a = 1; case 2: b = 1; break; case 3: return; }")
    assert stmts == (
        when(
            same(X, 1),
            (assign(A, ONE), assign(B, ONE)),
            (
                when(
                    same(X, 2),
                    (assign(B, ONE),),
                    (when(same(X, 3), (Return(None, line=1, end_line=1),)),),
                ),
            ),
        ),
    )


def test_a_switch_whose_labels_are_macros_keeps_its_statements() -> None:
    (stmt,) = body("switch (x) { FIXED(2); FIXED(3); }")
    assert isinstance(stmt, With)
    assert len(stmt.body) == 2


@pytest.mark.parametrize(
    ("source", "test", "how"),
    [
        ("assert(a);", A, "assert"),
        ('PD_CHECK(a == 1, "m");', same(A, 1), "PD_CHECK"),
        ("PADDLE_ENFORCE_EQ(a, 1, e());", same(A, 1), "PADDLE_ENFORCE_EQ"),
        (
            "PADDLE_ENFORCE_NOT_NULL(a, e());",
            Binary("!=", A, Const(None)),
            "PADDLE_ENFORCE_NOT_NULL",
        ),
        ('TORCH_CHECK(a < b, "m");', Binary("<", A, B), "TORCH_CHECK"),
        ('CHECK_LE(a, b) << "m";', Binary("<=", A, B), "CHECK_LE"),
        ("WRAPPER_ASSERT_GT(ctx, a, 0);", Binary(">", A, ZERO), "WRAPPER_ASSERT_GT"),
        ("static_assert(a);", A, "static_assert"),
        (
            "WRAPPER_CHECK_PTR(ctx, int, n, x);",
            Call(Name("WRAPPER_CHECK_PTR"), (Name("ctx"), Name("int"), N, X)),
            "WRAPPER_CHECK_PTR",
        ),
        ("CHECK_INPUT(x);", Call(Name("CHECK_INPUT"), (X,)), "CHECK_INPUT"),
    ],
)
def test_assertions(source: str, test: Expr, how: str) -> None:
    assert body(source) == (Assert(test, how, line=1, end_line=1),)


@pytest.mark.parametrize("name", ["CHECKSUM", "check", "RECHECK", "MY_CHECKER"])
def test_a_name_that_only_looks_like_an_assertion(name: str) -> None:
    assert body(f"{name}(a);") == (run(Call(Name(name), (A,))),)


def test_the_lambda_of_a_dispatch_macro_is_reached() -> None:
    (stmt,) = body("DISPATCH(a, T, [&](int x) { k<T><<<1, n>>>(x); return; });")
    assert isinstance(stmt, With)
    assert stmt.kind == "lambda"
    (item,) = stmt.items
    assert isinstance(item, Call)
    assert item.func == Name("DISPATCH")
    declares, launch, _ = stmt.body
    assert declares == assign(X, None, declares="int")
    assert launch == run(Call(Name("k"), (X,), launch=(ONE, N), template="T"))


def test_a_lambda_variable_is_reached_too() -> None:
    inner, outer = body("auto x = [=](int a) { f(); };")
    assert isinstance(inner, With)
    assert (inner.kind, inner.items) == ("lambda", (X,))
    assert isinstance(outer, Assign)
    assert outer.target == X


def test_a_macro_with_a_block_is_like_one_with_a_lambda() -> None:
    (stmt,) = body("DISPATCH(a, N, { x = N; })")
    assert stmt == With(
        "lambda",
        (assign(X, Name("N")),),
        items=(Call(Name("DISPATCH"), (A, Name("N"), Sequence("init", ()))),),
        line=1,
        end_line=1,
    )


def test_both_arms_of_a_conditional_are_taken() -> None:
    unit = parse_cpp(
        "f.cu", b"void f() {\n#ifdef A\n  a = 1;\n#elif B\n  a = 2;\n#else\n  a = 3;\n#endif\n}\n"
    )
    arms = unit.functions[0].body
    assert [(arm.line, arm.end_line) for arm in arms] == [(2, 3), (4, 5), (6, 7)]
    heads = [arm.items for arm in arms if isinstance(arm, With) and arm.kind == "ifdef"]
    assert heads == [(Name("#ifdef A"),), (Name("#elif B"),), (Name("#else"),)]


def test_a_return_guards_what_follows() -> None:
    guarded = list(guarded_statements(body("if (a) return; f();")))
    assert guarded[-1] == GuardedStmt(run(), (Unary("not", A),), ())


def test_lines() -> None:
    source = (
        b"void f(\n    int n) {\n  for (int i = 0;\n"
        b"       i < n; i++) {\n    a[i] =\n      1;\n  }\n}\n"
    )
    unit = parse_cpp("f.cu", source)
    (function,) = unit.functions
    assert (function.start_line, function.end_line) == (1, 8)
    assert [p.line for p in function.params] == [2]
    found = [
        (type(g.stmt).__name__, g.stmt.line, g.stmt.end_line)
        for g in guarded_statements(function.body)
    ]
    assert found == [("Assign", 3, 3), ("For", 3, 7), ("Assign", 5, 6)]


def test_what_is_broken_is_said_and_the_rest_is_there() -> None:
    source = b"void f() {\n  a = 1;\n  b = f(2, ;\n  c = 3;\n}\nvoid g() { x = 1; }\n"
    unit = parse_cpp("f.cu", source)
    f, g = unit.functions
    assert not f.clean
    assert all(start == end == 3 for start, end in f.broken)
    assert g.clean
    assert unit.is_broken(3, 3)
    assert not unit.is_broken(6, 6)
    stmts = f.body
    assert Assign(A, "=", ONE, line=2, end_line=2) in stmts
    assert Assign(C, "=", Const(3), line=4, end_line=4) in stmts
    assert any(isinstance(s, Opaque) for s in stmts if s.line == 3)


def test_members_of_this() -> None:
    assert body("this->a = x.b;") == (assign(Attr(Name("this"), "a"), Attr(X, "b")),)
