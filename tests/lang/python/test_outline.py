"""What a file defines is the same whether the insides of its functions were read with it or not."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks.lang.ir.source_file import Unit
from checks.lang.ir.wanted import Wanted
from checks.lang.python.outline import outline
from checks.lang.python.parse import parse_python

ROOT = Path(__file__).resolve().parents[2]
OURS = sorted((ROOT / "checks").rglob("*.py"))

PIECES = (
    "def f(a, b=(1, 2)):",
    "def f(\n    a,\n    b: 'str' = ')',\n) -> int:",
    "def f(a,\n      b):  # and (so):",
    "async def f(x): return {1: 2}",
    "class A:",
    "@mark(x)",
    "    def g(self) -> dict[str, int]:",
    '    """Doc of\n    two lines."""',
    '    r"""Doc with \\""" in it."""',
    "    'doc'",
    '    f"""no {a} doc"""',
    '    x = """\ndef h():\n    return 1\n"""',
    "    x = '''one''' + \"\"\"\n  two\"\"\"",
    "    x = 'a \\\nb'",
    "    x = (1,\n2)",
    "    x = 1 + \\\n2",
    "    # a comment",
    "# at the margin",
    "",
    "    if a:\n        import os",
    "    if a: from m import (b,\n        c)",
    "        def inner(y):\n            return y",
    "    class B:\n        C = 3",
    "    default = a; imported = 2",
    "        return a[1:\n  2]",
    "    @mark(\n        a\n    )",
    "    async def late(z): yield z",
    "    else:\n        import c",
    "    try:\n        import d\n    except ImportError:\n        d = None",
    "    x = [\n    1,\n    2]",
    "    'later: import e'",
    "    x = 'a: \\\n    import f # '",
    '    x = """\n    import g\n    """',
    "    pass",
    "        pass",
    "X = '''\ndef f():\n    return 2\n'''",
    "Y: int = 3",
    "import m",
    '"""A string\n    def f():\n        pass\n"""',
)


def shown(unit: Unit) -> tuple[object, ...]:
    bodies = [(f, f.doc, f.body, f.broken) for f in unit.functions]
    return bodies, unit.classes, unit.constants, unit.imports, unit.top, unit.broken


def whole(text: str) -> Unit:
    """Read with everything in it: a file with a tab is not taken apart."""
    return parse_python("m.py", f"{text}\n#\t\n".encode())


@pytest.mark.parametrize("part", range(8))
def test_our_own_files(part: int) -> None:
    for path in OURS[part::8]:
        text = path.read_text("utf-8")
        expected, some = shown(whole(text)), tuple(range(1, text.count("\n"), 40))
        assert shown(parse_python("m.py", text.encode())) == expected, path
        assert shown(parse_python("m.py", text.encode(), Wanted(some))) == expected, path


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=8), st.data())
def test_pieces_in_any_order(pieces: list[str], data: st.DataObject) -> None:
    text = "\n".join(pieces)
    lines = text.count("\n") + 1
    some = tuple(sorted(data.draw(st.sets(st.integers(1, lines), max_size=3))))
    wanted = Wanted(some, lowered=data.draw(st.booleans()))
    try:
        compile(text, "m.py", "exec", 0x400, dont_inherit=True)
    except SyntaxError:
        return  # what is kept of a broken file depends on where it is looked at first
    assert shown(parse_python("m.py", text.encode(), wanted)) == shown(whole(text))


def test_what_is_wanted_stays() -> None:
    f, without = "    def f(a):\n        b = a\n        return b\n", "    def f(a):\n\n        0\n"
    g = "    def g(a):\n        return a\n"
    text = f"class A:\n{f}\n{g}"
    assert (
        outline(text, [text.index("        return b")])
        == f"class A:\n{f}\n{g.replace('return a', '0')}"
    )
    assert outline(text, [text.index(g)]) == f"class A:\n{without}\n{g}"


def test_insides_are_left_out() -> None:
    text = 'def f(a):\n    """Doc."""\n    b = a\n    # why\n    return b\n\n\nX = 1\n'
    assert outline(text) == 'def f(a):\n    """Doc."""\n\n\n    0\n\n\nX = 1\n'


def test_what_shows_outside_stays() -> None:
    text = "def f():\n    import os\n\n    return os\n"
    assert outline(text) == "def f():\n    import os\n\n    0\n"


def test_a_statement_stays_whole() -> None:
    kept = "    if g(\n        b\n    ):\n        import os\n    else:\n        os = b\n"
    text = f"def f(a):\n    b = a\n{kept}    return b\n"
    assert outline(text) == text.replace("b = a", "0").replace("return b", "0")


def test_a_function_in_a_function_is_left_out_too() -> None:
    text = "def f(a):\n    a += 1\n\n    @mark\n    def g(b):\n        return b\n\n    return g\n"
    assert outline(text) == "def f(a):\n\n    0\n    @mark\n    def g(b):\n        0\n\n    0\n"


def test_a_broken_inside_is_told_when_it_is_asked_for() -> None:
    unit = parse_python(
        "m.py", b'def f(x):\n    print "x"\n    return x\n\n\ndef g(x):\n    return x\n'
    )
    assert not unit.skipped
    assert [f.clean for f in unit.functions] == [False, True]
    assert unit.is_broken(2, 2) and not unit.is_broken(6, 7)
