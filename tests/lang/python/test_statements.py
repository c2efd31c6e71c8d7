"""Python statements and expressions in the common language."""

from __future__ import annotations

import pytest

from checks.lang.ir.expr import (
    Attr,
    Binary,
    Call,
    Comprehension,
    Const,
    Expr,
    Index,
    Mapping,
    Name,
    Sequence,
    Slice,
    Ternary,
    Unary,
    Unknown,
    names,
)
from checks.lang.ir.stmt import Assert, Assign, ExprStmt, For, If, Jump, Opaque, Return, Stmt, With
from checks.lang.python.parse import parse_python

A, B, C = Name("a"), Name("b"), Name("c")


def top(source: str) -> tuple[Stmt, ...]:
    unit = parse_python("m.py", source.encode())
    assert unit.broken == ()
    return unit.top


def value(source: str) -> Expr:
    (stmt,) = top(source)
    assert isinstance(stmt, ExprStmt)
    return stmt.value


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("1_000", Const(1000)),
        ("'a' 'b'", Const("ab")),
        ("None", Const(None)),
        ("...", Name("...")),
        ("a.b", Attr(A, "b")),
        ("a[1, 0]", Index(A, (Const(1), Const(0)))),
        ("a[1][0]", Index(Index(A, (Const(1),)), (Const(0),))),
        ("a[b:]", Index(A, (Slice(B, None, None),))),
        ("a[:, ::c]", Index(A, (Slice(), Slice(None, None, C)))),
        ("a << 16 | b", Binary("|", Binary("<<", A, Const(16)), B)),
        ("a // b % c", Binary("%", Binary("//", A, B), C)),
        ("-a ** ~b", Unary("-", Binary("**", A, Unary("~", B)))),
        ("a < b <= c", Binary("and", Binary("<", A, B), Binary("<=", B, C))),
        ("a not in b", Binary("not-in", A, B)),
        ("a is not None", Binary("is-not", A, Const(None))),
        ("not a or b and c", Binary("or", Unary("not", A), Binary("and", B, C))),
        ("a if b else c", Ternary(B, A, C)),
        ("(a, b)", Sequence("tuple", (A, B))),
        ("{a: b, **c}", Mapping(((A, B), (None, C)))),
        ("a(b, *c, k=1, **b)", Call(A, (B, Unary("*", C)), (("k", Const(1)), ("**", B)))),
        ("[a for a in b if c]", Comprehension("list", A, ((A, B, (C,)),))),
        ("{a: b for c in a}", Comprehension("dict", Sequence("tuple", (A, B)), ((C, A, ()),))),
        ("lambda a: b", Unknown("lambda a: b")),
        ("b'x'", Unknown("b'x'")),
        ("a @ b", Binary("@", A, B)),
    ],
)
def test_expression(source: str, expected: Expr) -> None:
    assert value(source) == expected


def test_names_inside_an_f_string_stay_visible() -> None:
    assert names(value("f'{a} and {b!r:>{c}}'")) >= {"a", "b"}


def test_lines_do_not_take_part_in_equality_but_are_kept() -> None:
    first, second = value("a + 1"), value("\n\na + 1")
    assert first == second
    assert (first.line, second.line) == (1, 3)


@pytest.mark.parametrize(
    ("source", "ends"),
    [
        ("range(a)", (Const(0), A, Const(1))),
        ("range(a, b)", (A, B, Const(1))),
        ("range(a, b, -1)", (A, B, Unary("-", Const(1)))),
        ("tl.static_range(0, a)", (Const(0), A, Const(1))),
    ],
)
def test_counted_loop(source: str, ends: tuple[Expr, Expr, Expr]) -> None:
    (loop,) = top(f"for i in {source}:\n    a[i] = b\n")
    assert isinstance(loop, For)
    assert (loop.start, loop.stop, loop.step) == ends
    assert loop.iterable is None
    assert loop.target == Name("i")


def test_iterating_loop_and_while() -> None:
    each, again = top("for a, b in c:\n    pass\nwhile a:\n    break\n")
    assert isinstance(each, For) and each.iterable == C and each.stop is None
    assert each.target == Sequence("tuple", (A, B))
    assert isinstance(again, For) and again.test == A and again.target is None


def test_starred_range_is_not_counted() -> None:
    (loop,) = top("for i in range(*a):\n    pass\n")
    assert isinstance(loop, For) and loop.start is None and loop.iterable is not None


def test_else_of_a_loop_without_break_always_runs() -> None:
    loop, rest = top("for a in b:\n    c\nelse:\n    a = 1\n")
    assert isinstance(loop, For) and isinstance(rest, Assign)


def test_else_of_a_loop_with_break_runs_on_an_unknown_condition() -> None:
    _, rest = top("for a in b:\n    break\nelse:\n    a = 1\n")
    assert isinstance(rest, If) and isinstance(rest.test, Unknown)


def test_chained_assignment_calls_once() -> None:
    first, second = top("a = b = c()")
    assert isinstance(first, Assign) and isinstance(second, Assign)
    assert first.value == Call(C)
    assert (second.target, second.value) == (B, A)


def test_augmented_and_annotated_assignment() -> None:
    first, second, third = top("a[0] |= b\nc: int = 3\nb: int\n")
    assert isinstance(first, Assign) and first.op == "|="
    assert isinstance(second, Assign) and (second.declares, second.value) == ("int", Const(3))
    assert isinstance(third, Assign) and third.value is None


def test_walrus_is_assigned_before_its_statement() -> None:
    assign, branch = top("if (a := b) > 3:\n    c\n")
    assert isinstance(assign, Assign) and (assign.target, assign.value) == (A, B)
    assert isinstance(branch, If) and branch.test == Binary(">", A, Const(3))


def test_walrus_on_a_condition_has_no_known_value() -> None:
    assign, _ = top("if c and (a := b):\n    c\n")
    assert isinstance(assign, Assign) and isinstance(assign.value, Unknown)


def test_match_on_values_is_a_chain_of_branches() -> None:
    cases = ["case 1 | 2:", "    b", "case c if c > 3:", "    c", "case _:", "    a"]
    (first,) = top("match a:\n    " + "\n    ".join(cases))
    assert isinstance(first, If)
    assert first.test == Binary("or", Binary("==", A, Const(1)), Binary("==", A, Const(2)))
    (second,) = first.orelse
    assert isinstance(second, If) and second.test == Binary(">", C, Const(3))
    assert isinstance(second.then[0], Assign) and second.then[0].value == A
    assert len(second.orelse) == 1


def test_match_on_shapes_is_unknown_and_binds_unknown() -> None:
    (branch,) = top("match a:\n    case [b, *c]:\n        b\n")
    assert isinstance(branch, If) and branch.test == Unknown("[b, *c]")
    assert [s.target for s in branch.then if isinstance(s, Assign)] == [B, C]


def test_with_and_try() -> None:
    source = "with a as b:\n    c\ntry:\n    a\nexcept E:\n    b\nelse:\n    b\nfinally:\n    c\n"
    within, attempt = top(source)
    assert isinstance(within, With) and within.items == (A,)
    assert isinstance(within.body[0], Assign) and within.body[0].target == B
    assert isinstance(attempt, With) and attempt.items == (Name("E"),)
    assert (len(attempt.body), len(attempt.parts)) == (2, 2)


def test_small_statements() -> None:
    body = top("assert a, b\ndel a\nglobal c\nimport os\n")
    assert isinstance(body[0], Assert) and body[0].test == A
    assert isinstance(body[1], ExprStmt) and body[1].value == Call(Name("del"), (A,))
    assert isinstance(body[2], ExprStmt) and body[2].value == Call(Name("global"), (C,))
    assert isinstance(body[3], Jump)


def test_bodies_are_read_where_they_stand() -> None:
    source = (
        "class A:\n\t@(\n\t\tmark\n\t)\n\tdef f(self):\n"
        "\t\tx = '''a\nb'''; y = 1\n\t\treturn (\n1)\n"
    )
    (function,) = parse_python("m.py", source.encode()).functions
    assert function.start_line == 3
    first, second, third = function.body
    assert isinstance(first, Assign) and first.value == Const("a\nb")
    assert [(s.line, s.end_line) for s in (first, second, third)] == [(6, 7), (7, 7), (8, 9)]


def test_body_is_without_its_docstring() -> None:
    unit = parse_python("m.py", b'def f():\n    """Words."""\n    return 1\n')
    (function,) = unit.functions
    assert function.doc == "Words."
    assert [type(s) for s in function.body] == [Return]


@pytest.mark.parametrize(
    "source",
    [
        "x = " + "+".join(["1"] * 900),
        "x = " + " and ".join(["a"] * 5000),
        "x = " + " < ".join(["a"] * 5000),
        "if a:\n    pass\n" + "elif b:\n    pass\n" * 300,
        "x = " + "[" * 150 + "]" * 150,
    ],
)
def test_deep_code_is_cut_off_and_not_refused(source: str) -> None:
    unit = parse_python("m.py", source.encode())
    assert unit.top
    text = repr(unit.top) + repr(unit.constants)
    assert "Unknown" in text or any(isinstance(s, Opaque) for s in unit.top) or "Opaque" in text
