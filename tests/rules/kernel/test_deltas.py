"""A Python function's code without comments and plain strings, told without a tokenizer."""

import io
import re
import tokenize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks.core.changed import body_code, code_without_comments, has_word
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
