"""Expressions as source text."""

import pytest

from checks.lang.cpp.snippets import expression
from checks.lang.ir.expr import Call, Mapping, Name
from checks.lang.ir.render import source_of


@pytest.mark.parametrize(
    "source",
    [
        "a + b + c",
        "(a + b) * c",
        "x & 0xFF",
        "x & 1",
        "a.b[i].f(x, 1)",
        "!done && (n > 0)",
        "(int)(a + b)",
        "c ? a : b",
    ],
)
def test_what_is_written_is_what_was_read(source):
    assert source_of(expression(source.encode(), 1)) == source


def test_a_form_that_has_no_text_is_given_by_its_kind():
    assert source_of(Call(Name("f"), (Mapping(()),))) == "f(mapping)"
