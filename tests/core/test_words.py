"""Whole words in text and bytes."""

import pytest

from checks.core.words import (
    contains_word,
    find_word,
    has_word,
    may_contain,
    one_slip_apart,
)


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("top_k", True),
        ("x = top_k + 1", True),
        ("self.top_k", True),
        ("top_k2", False),
        ("stop_k", False),
        ("top", False),
        ("top_ks top_k", True),
    ],
)
def test_a_word_is_whole_in_text_and_in_bytes(text, whole):
    assert has_word(text, "top_k") is whole
    assert contains_word(text.encode(), b"top_k") is whole
    assert bool(find_word(text.encode(), "top_k")) is whole


def test_a_line_with_two_hits_is_given_once_with_its_number():
    assert find_word(b"a\nb = a + a\r\naa\na", "a") == [(1, "a"), (2, "b = a + a"), (4, "a")]


def test_what_may_be_contained_is_asked_for_in_text_and_bytes():
    assert may_contain("stop_k", "top")
    assert may_contain(b"stop_k", "top", "_k")
    assert not may_contain(b"stop_k", "top", "seed")


@pytest.mark.parametrize(
    ("second", "is_slip"),
    [
        ("us_tp", True),
        ("use__tp", True),
        ("use_dp", True),
        ("ues_tp", True),
        ("use_tp", False),
        ("us_dp", False),
        ("tp_use", False),
        ("", False),
    ],
)
def test_one_slip_is_one_letter_or_two_that_changed_places(second, is_slip):
    assert one_slip_apart("use_tp", second) is is_slip
    assert one_slip_apart(second, "use_tp") is is_slip
