"""What a change did to functions, and a function's code without comments and plain strings."""

import io
import re
import tokenize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks.core.change import ChangeSet, FileChange, Hunk
from checks.core.changed import changed_functions
from checks.core.code import body_code, code_without_comments
from checks.core.config import Config
from checks.core.finding import Confidence, Location, Message, Severity
from checks.core.tree import MemoryTree
from checks.core.words import has_word
from checks.lang.ir.source_file import Function, SourceFile

WORDS = re.compile(r"\w+|[^\w\s]")
PLAIN = re.compile(r"""^[bBrRuU]{0,2}["']""")


def code(text: str) -> str:
    lines = tuple(text.split("\n"))
    function = Function("f", "f", "a.py", (), 1, len(lines), lambda: ())
    return code_without_comments(SourceFile("a.py", "python", lines), function)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("x = 1  # topk", "x = 1"),
        ("x = '# no' + y  # topk", "x = + y"),
        ('"""topk\n"quoted" # topk\n"""\nx = 1', "x = 1"),
        ("x = f'{topk}' + 'topk'", "x = f'{topk}' +"),
        ("x = rf'{topk}' + Fr'{seed}' + rb'topk' + u'topk'", "x = rf'{topk}' + Fr'{seed}' + +"),
        ("return'topk'if a else b", "return if a else b"),
        (r"x = 'it\'s topk' + y", "x = + y"),
        ("x = f# topk\n", "x = f"),
    ],
)
def test_comments_and_plain_strings_are_left_out(text, kept):
    assert WORDS.findall(code(text)) == WORDS.findall(kept)


PIECES = st.sampled_from(
    [
        "x",
        "f",
        "rb",
        "or",
        " ",
        " ",
        "\n",
        "+",
        "(",
        ")",
        "#c\n",
        "'s'",
        '"s\'"',
        "f'{a}'",
        'b"s"',
        "'''s\n'''",
        "''",
    ]
)


@given(st.lists(PIECES, max_size=20))
def test_what_is_left_is_what_a_tokenizer_leaves(pieces):
    text = "(" + "".join(pieces) + ")"  # between brackets lines mean nothing
    try:
        tokens = [
            t
            for t in tokenize.generate_tokens(io.StringIO(text).readline)
            if t.type != tokenize.COMMENT
        ]
    except (tokenize.TokenError, IndentationError):
        return
    if any(t.type == tokenize.ERRORTOKEN for t in tokens):
        return
    left = [t.string for t in tokens if not (t.type == tokenize.STRING and PLAIN.match(t.string))]
    assert WORDS.findall(code(text)) == WORDS.findall(" ".join(left))


def test_the_body_begins_behind_the_parameters():
    function = Function("take", "take", "a.py", (), 1, 1, lambda: ())
    body = body_code(
        function, "@cached(take=1)\ndef take(a, b=(1, 2)) -> int:\n    return retake(a)"
    )
    assert has_word(body, "a")
    assert not has_word(body, "b")


def edited(old: str, new: str, hunk: Hunk) -> ChangeSet:
    files = (FileChange("M", "a.py", "a.py", (hunk,)),)
    return ChangeSet(MemoryTree({"a.py": old}), MemoryTree({"a.py": new}), files)


def test_a_changed_function_is_paired_with_what_it_was():
    change = edited(
        "def f(x):\n    return x\n\ndef g():\n    pass\n",
        "def f(x):\n    return x + 1\n\ndef g():\n    pass\n",
        Hunk(2, 1, 2, 1),
    )
    (function,) = changed_functions(change, Config())
    assert function.head.name == "f"
    assert function.python
    assert function.touched(2)
    assert not function.touched(1)
    assert function.base_code == "def f(x):\n    return x"


def test_a_function_that_changed_its_class_is_paired_by_its_name():
    change = edited(
        "class A:\n    def f(self):\n        return 1\n",
        "class B:\n    def f(self):\n        return 1\n",
        Hunk(1, 3, 1, 3),
    )
    (function,) = changed_functions(change, Config())
    assert function.head.qualname == "B.f"
    assert function.base is not None
    assert function.base.qualname == "A.f"


def test_a_finding_of_a_changed_function_has_its_place_and_code():
    change = edited("def f():\n    pass\n", "def f():\n    g(1)\n", Hunk(2, 1, 2, 1))
    (function,) = changed_functions(change, Config())
    finding = function.finding(
        "kernel.host-sync",
        function.statements[0].stmt,
        "waits",
        severity=Severity.SUGGESTION,
        confidence=Confidence.HIGH,
        call="g",
    )
    assert finding.location == Location("a.py", 2)
    assert finding.message == Message("waits", {"call": "g"})
    assert finding.symbol == "f"
    assert finding.subject == "    g(1)"


def test_a_function_in_a_test_is_left_out():
    files = (FileChange("A", None, "tests/test_a.py", (Hunk(0, 0, 1, 2),)),)
    tree = MemoryTree({"tests/test_a.py": "def f():\n    pass\n"})
    assert not changed_functions(ChangeSet(MemoryTree({}), tree, files), Config())
