"""What a change does, statement by statement."""

from __future__ import annotations

import difflib

import pytest

from checks.core.change import ChangeSet, FileChange, Hunk
from checks.core.config import load
from checks.core.tree import MemoryTree
from checks.domain.rewrites import find_rewrites
from checks.rules.convention._changed_code import changed_sources


def change(old: str, new: str, path: str) -> ChangeSet:
    matcher = difflib.SequenceMatcher(None, old.splitlines(), new.splitlines(), autojunk=False)
    hunks = tuple(
        Hunk(a + (b > a), b - a, c + (d > c), d - c)
        for tag, a, b, c, d in matcher.get_opcodes()
        if tag != "equal"
    )
    file = FileChange("M", path, path, hunks)
    return ChangeSet(MemoryTree({path: old}), MemoryTree({path: new}), (file,))


def seen(old: str, new: str, path: str = "a.py") -> list[tuple[str, str, str, str]]:
    made = change(old, new, path)
    return [(r.kind, r.target, r.before, r.after) for r in find_rewrites(made, made.files[0])]


def python(*lines: str) -> str:
    return "\n".join(("def f(a, b):", *(f"    {line}" for line in lines), "    return a", ""))


LONG = " + ".join(f"term_number_{n}" for n in range(10))


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        (("x = a",), ("x = (a + b)",), [("value", "x", "a", "a + b")]),
        (("x = a",), ("x = a  # same",), []),
        (("x = a",), ("y = a",), [("new", "y", "", "a")]),
        (("x = a", "x = b"), ("x = b", "x = a"), []),
        (
            ("for i in range(a):", "    g(i)"),
            ("for i in range(b):", "    g(i)"),
            [("loop", "i", "i in range(a)", "i in range(b)")],
        ),
        (("if a:", "    g()"), ("if a and b:", "    g()"), [("condition", "", "a", "a and b")]),
        (("if a:", "    g()"), ("g()",), [("branch", "", "a", "")]),
        (("g()",), ("if b:", "    g()"), [("branch", "", "", "b")]),
        ((f"x = {LONG} if a else 20",), (f"x = {LONG}",), [("part", "x", "if a else 20", "")]),
        ((f"x = {LONG}",), (f"x = {LONG.replace('term', 'part')}",), []),
        (
            (f"x = ({LONG}).y",),
            (f"x = ({LONG}).y[:4]",),
            [("part", "x", "term_number_9).y", "term_number_9).y[:4]")],
        ),
        (
            (f"x = g({LONG}, 1)",),
            (f"x = g({LONG}, 1)[:4]",),
            [("part", "x", "", "[:4]")],
        ),
        (("if a:", "    g()"), ("if a or b:", "    if b:", "        g()"), []),
        (("g(a)",), ("g(b)",), []),
        (
            ("if a in [1, 2]:", "    g()"),
            ("if a in [", "    1,  # one", "    2,", "    3,", "]:", "    g()"),
            [("condition", "", "a in [1, 2]", "a in [1, 2, 3]")],
        ),
        (
            ("x = [1]",),
            ("x = [", "    1,  # one", "    2,", "]"),
            [("value", "x", "[1]", "[1, 2]")],
        ),
    ],
)
def test_rewritten_statements(
    old: tuple[str, ...], new: tuple[str, ...], wanted: list[tuple[str, str, str, str]]
) -> None:
    assert seen(python(*old), python(*new)) == wanted


def test_rewritten_statements_of_cpp() -> None:
    old = "void f(int n) {\n  int x = n;\n  for (int i = 0; i < n; i++) {\n    g(i);\n  }\n}\n"
    new = (
        "void f(int n) {\n  int x = (n << 8) | (1);\n  for (int i = 0; i <= n; i++) {\n"
        "    g(i);\n  }\n}\n"
    )
    assert seen(old, new, "a.cc") == [
        ("value", "int x", "n", "(n << 8) | (1)"),
        ("loop", "i", "int i = 0; i < n; i++", "int i = 0; i <= n; i++"),
    ]


def test_a_condition_of_cpp_over_several_lines() -> None:
    old = "void f(int n, int m) {\n  if (n > m) {\n    g(n);\n  }\n}\n"
    new = (
        "void f(int n, int m) {\n  if (n > m ||  // too many\n      n < 0) {\n"
        "    // none\n    g(n);\n  }\n}\n"
    )
    assert seen(old, new, "a.cc") == [("condition", "", "n > m", "n > m || n < 0")]


def test_a_function_that_did_not_parse_is_left_out() -> None:
    assert seen("def f():\n    x = = 1\n    y = 1\n", "def f():\n    x = = 1\n    y = 2\n") == []


@pytest.mark.parametrize(
    ("old", "new", "path", "does"),
    [
        ("x = 1\n# a\n", "x = 1\n# b\n", "a.py", False),
        ("x = 1\n", "x = 1\n\n\n", "a.py", False),
        ("x = 1\n# a\n", "x = 1\n", "a.py", False),
        ("x = 1  # a\n", "x = 1  # b\n", "a.py", True),
        ("int x; /* a\n b */\n", "int x; /* a\n * c */\n", "a.cc", True),
        ("// a\nint x;\n", "/* b */\nint x;\n", "a.cc", False),
        ("#define A 1\n", "#define A 2\n", "a.h", True),
        ("x = 1\n", "x = 2\n", "tests/test_a.py", False),
        ("a\n", "b\n", "a.md", False),
    ],
)
def test_which_changes_are_of_product_code(old: str, new: str, path: str, does: bool) -> None:
    assert bool(changed_sources(change(old, new, path), load(None))) == does
