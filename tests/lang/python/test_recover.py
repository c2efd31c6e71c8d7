"""Files that Python refuses: what is intact is still read, and the rest is named."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from checks.lang.ir.source_file import SourceFile
from checks.lang.ir.stmt import Opaque, guarded_statements
from checks.lang.python.parse import parse_python

WHOLE = b'''\
import os

LIMIT = 4


class Reader:
    """Reads."""

    def first(self, word):
        count = word & 0xFFFF
        return count

    def second(self, rows):
        for i in range(LIMIT):
            if rows[i] < 0:
                continue
            rows[i] |= (i << 16)
        return {k: f"{v}" for k, v in rows.items()}


def alone(a, *, b=LIMIT):
    try:
        return a // b
    except ZeroDivisionError as error:
        raise ValueError("b") from error
'''


def read(source: str | bytes) -> SourceFile:
    data = source if isinstance(source, bytes) else source.encode()
    unit = parse_python("m.py", data)
    for function in unit.functions:
        assert 1 <= function.start_line <= function.end_line <= len(unit.lines)
        for inner in guarded_statements(function.body):
            assert function.start_line <= inner.stmt.line <= inner.stmt.end_line
    return unit


def clean(unit: SourceFile) -> dict[str, bool]:
    return {f.qualname: f.clean for f in unit.functions}


def test_python_2() -> None:
    source = 'def f(x):\n    print "x", x\n    return x\n\ndef g(x):\n    return x + 1\n'
    unit = read(source)
    assert clean(unit) == {"f": False, "g": True}
    assert unit.broken == ((2, 2),)
    first = unit.functions[0].body[0]
    assert isinstance(first, Opaque) and first.text == '    print "x", x'
    assert len(unit.functions[0].body) == 2


def test_newer_syntax_keeps_its_functions() -> None:
    source = "type A = int\n\ndef f[T](x: T) -> T:\n    return x\n\ndef g():\n    return 1\n"
    unit = read(source)
    assert list(clean(unit)) == ["f", "g"]
    assert clean(unit)["g"]
    assert [p.name for p in unit.functions[0].params] == ["x"]


def test_open_bracket_breaks_only_its_line() -> None:
    first = "    def f(self):\n        x = (1,\n        return 3\n"
    unit = read(f"class A:\n{first}    def g(self):\n        return 4\n")
    assert clean(unit) == {"A.f": False, "A.g": True}
    assert unit.broken == ((3, 3),)


def test_broken_header_keeps_the_name() -> None:
    unit = read("def f(:\n    return 1\n\ndef g():\n    return 2\n")
    assert clean(unit) == {"f": False, "g": True}


def test_merge_conflict_keeps_both_arms() -> None:
    unit = read(
        "def f():\n<<<<<<< HEAD\n    x = 1\n=======\n    x = 2\n>>>>>>> other\n    return x\n"
    )
    assert clean(unit) == {"f": False}
    assert unit.broken == ((2, 2), (4, 4), (6, 6))
    assert len(unit.functions[0].body) == 3


def test_a_line_out_of_its_block_does_not_take_the_block_along() -> None:
    body = "        x = 1\ny = 2\n        z = 3\n        return z\n\n"
    unit = read(f"class A:\n    def f(self):\n{body}    def g(self):\n        return 1\n")
    assert unit.broken == ((4, 4),)
    assert clean(unit) == {"A.f": False, "A.g": True}


def test_missing_block() -> None:
    unit = read("def f(a):\n    if a:\n    return 1\n\ndef g():\n    return 2\n")
    assert clean(unit) == {"f": False, "g": True}


@pytest.mark.parametrize(
    "line",
    [
        "x = " + "(" * 3000 + ")" * 3000,
        "x = " + "-" * 50_000 + "1",
        "x = " + "1+" * 30_000 + "1",
        "x = " + "a." * 20_000 + "a",
        "x = " + "[" * 190 + "]" * 190,
    ],
)
def test_deep_nesting_spares_the_rest(line: str) -> None:
    unit = read(f"def f():\n    {line}\n    return 1\n\ndef g():\n    return 2\n")
    assert list(clean(unit)) == ["f", "g"]
    assert clean(unit)["g"]


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
def test_line_ends_and_bom(ending: str, bom: bytes) -> None:
    unit = read(bom + WHOLE.replace(b"\n", ending.encode()))
    assert unit.lines == tuple(WHOLE.decode().split("\n")[:-1])
    assert unit.broken == ()
    assert list(clean(unit)) == ["Reader.first", "Reader.second", "alone"]


def test_other_encodings() -> None:
    named = "# -*- coding: gbk -*-\nX = '词'\n".encode("gbk")
    assert read(named).lines[1] == "X = '词'"
    wrong = "def f():\n    return 1  # 词\n\ndef g():\n    return 2\n".encode("gbk")
    unit = read(wrong)
    assert clean(unit) == {"f": False, "g": True}


def test_null_bytes_form_feeds_and_lone_returns() -> None:
    unit = read(b"def f():\n    return 1\0\n\x0c\ndef g():\n    return 2 # a\rb\n")
    assert clean(unit) == {"f": False, "g": True}
    assert unit.functions[1].start_line == 4


def test_wide_characters_do_not_shift_the_text() -> None:
    unit = read("def f(a: '类型', b: int = 1) -> '好':\n    return a\n")
    assert [p.type for p in unit.functions[0].params] == ["'类型'", "int"]


def test_hopeless_file_still_lists_its_definitions() -> None:
    lines = [f"    ) x{i} = (" for i in range(3000)]
    unit = read("\n".join(["def f():", *lines, "", "def g():", "    return 2"]))
    assert "g" in clean(unit)
    assert unit.broken


@pytest.mark.parametrize(
    "source", [b"", b"\n", b"\0", b"\xff\xfe", b"(", b"'''", b"\\", b"\t \x0c"]
)
def test_scraps(source: bytes) -> None:
    read(source)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_no_mutation_raises(data: st.DataObject) -> None:
    """Bytes cut out, doubled and put in anywhere."""
    source = WHOLE
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(source)))
        end = data.draw(st.integers(start, min(len(source), start + 40)))
        scraps = [
            b"(",
            b"'",
            b'"""',
            b"\n",
            b"\t",
            b"\0",
            b"\xff",
            b":",
            b"def ",
            b"    ",
            b"\\",
            b"elif",
        ]
        new = data.draw(st.one_of(st.binary(max_size=6), st.sampled_from(scraps)))
        source = source[:start] + new + source[end:]
    read(source)


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=300))
def test_no_bytes_raise(data: bytes) -> None:
    read(data)
