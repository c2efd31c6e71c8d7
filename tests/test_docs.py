"""README.md says what is true: its generated blocks are what the commands give today."""

from tests.docs import BLOCK, GENERATED, README, rewritten


def test_generated_blocks_are_current():
    text = README.read_text("utf-8")
    assert {m[2] for m in BLOCK.finditer(text)} == set(GENERATED)
    assert rewritten(text) == text, "run `python -m tests.docs`"
