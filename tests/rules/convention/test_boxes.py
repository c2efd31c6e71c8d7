"""What the boxes of real templates ask for."""

from __future__ import annotations

import pytest

from checks.rules.convention._boxes import Kind, kind


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Add at least a tag in the PR title.", Kind.TAG),
        ("PR 标题含标签", Kind.TAG),
        ("Format your code, run `pre-commit` before commit.", Kind.FORMAT),
        ("Add unit tests. Please write the reason in this PR if no unit tests.", Kind.TESTS),
        ("补充单测", Kind.TESTS),
        ("I have added new tests", Kind.TESTS),
        ("The test plan, such as the command to run.", Kind.OTHER),
        ("The test results, before and after.", Kind.OTHER),
        ("Provide accuracy results.", Kind.ACCURACY),
        (
            "If this goes to the `release` branch, cherry-pick it with the `[Cherry-Pick]` tag.",
            Kind.RELEASE,
        ),
        ("Update the documentation.", Kind.DOCS),
        ("I agree.", Kind.OTHER),
    ],
)
def test_the_kind_of_a_box(text: str, wanted: Kind) -> None:
    assert kind(text) is wanted
