"""What the boxes of real templates ask for."""

from __future__ import annotations

import pytest

from checks.rules.convention._boxes import BoxKind, kind_of


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Add at least a tag in the PR title.", BoxKind.TAG),
        ("PR 标题含标签", BoxKind.TAG),
        ("Format your code, run `pre-commit` before commit.", BoxKind.FORMAT),
        ("Add unit tests. Please write the reason in this PR if no unit tests.", BoxKind.TESTS),
        ("补充单测", BoxKind.TESTS),
        ("I have added new tests", BoxKind.TESTS),
        ("The test plan, such as the command to run.", BoxKind.OTHER),
        ("The test results, before and after.", BoxKind.OTHER),
        ("Provide accuracy results.", BoxKind.ACCURACY),
        (
            "If this goes to the `release` branch, cherry-pick it with the `[Cherry-Pick]` tag.",
            BoxKind.RELEASE,
        ),
        ("Update the documentation.", BoxKind.DOCS),
        ("I agree.", BoxKind.OTHER),
    ],
)
def test_the_kind_of_a_box(text: str, wanted: BoxKind) -> None:
    assert kind_of(text) is wanted
