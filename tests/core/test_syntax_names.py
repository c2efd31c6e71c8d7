"""What binds a name is read from syntax, however deep a stranger makes it."""

from __future__ import annotations

from checks.domain.calls.syntax_names import module_binds


def test_an_expression_may_be_as_deep_as_a_stranger_likes() -> None:
    for terms in range(100, 3000, 100):
        assert module_binds("rows = " + " + ".join(["1"] * terms) + "\n", "rows")
