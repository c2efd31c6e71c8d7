"""Threads to topics: what they are about, how they stand, and whose words are quoted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks.summary.comment_text import KINDS, kind_of, quote
from checks.summary.discussion import STATES, ReviewComment, Thread, find_topics

ASK = ReviewComment(
    "ann", "`row_lengths` is read as int64 here, which is wrong: the buffer is int32."
)
ANSWER = ReviewComment("bob", "It is widened by the caller.", by_author=True)


def thread(*comments: ReviewComment, path: str = "a.cc", **more: object) -> Thread:
    return Thread(comments, path, 3, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "about"),
    [
        ("This reads out of bounds when the batch is empty.", "correctness"),
        ("这里会越界，类型不匹配", "correctness"),
        ("The extra copy costs latency on the overlap path.", "performance"),
        ("Please add a unit test for the mixed batch.", "test"),
        ("nit: naming, spec_method elsewhere", "style"),
        (
            (
                "Could this interface be an abstract one instead of a copy of the other? I would "
                "refactor."
            ),
            "design",
        ),
        ("Which model did you try?", "other"),
    ],
)
def test_what_a_comment_is_about(text: str, about: str):
    assert kind_of([text]) == about


@pytest.mark.parametrize(
    ("made", "state"),
    [
        (thread(ASK), "unresolved"),
        (thread(ASK, ReviewComment("cat", "Same question.")), "unresolved"),
        (thread(ASK, ANSWER), "answered"),
        (thread(ASK, ANSWER, outdated=True), "outdated"),
        (thread(ASK, outdated=True, resolved=True), "resolved"),
    ],
)
def test_how_a_thread_stands(made: Thread, state: str):
    (topic,) = find_topics([made])
    assert topic.state == state


def test_the_last_word_is_quoted_with_its_author():
    (topic,) = find_topics([thread(ASK, ANSWER, ReviewComment("ann", "thanks!"))])
    assert topic.opening.author == "ann"
    assert (
        topic.opening.text
        == "row_lengths is read as int64 here, which is wrong: the buffer is int32."
    )
    assert topic.conclusion is not None
    assert (topic.conclusion.author, topic.conclusion.text) == (
        "bob",
        "It is widened by the caller.",
    )


def test_nobody_answered():
    (topic,) = find_topics([thread(ASK)])
    assert topic.conclusion is None


def test_threads_about_the_same_names_of_a_file_are_one_topic():
    again = thread(ReviewComment("cat", "`row_lengths` again, still the wrong type"))
    elsewhere = thread(ReviewComment("cat", "`row_lengths` in another file"), path="b.cc")
    unlike = thread(ReviewComment("cat", "`seed_state` starts at zero"))
    assert [len(t.threads) for t in find_topics([thread(ASK), again, elsewhere, unlike])] == [
        2,
        1,
        1,
    ]


def test_open_topics_come_first_and_one_open_thread_keeps_a_topic_open():
    closed = thread(ReviewComment("cat", "`seed_state` starts at zero"), resolved=True)
    twice = [
        thread(ASK, resolved=True),
        thread(ReviewComment("dan", "`row_lengths` is still wrong")),
    ]
    assert [t.state for t in find_topics([closed, *twice])] == ["unresolved", "resolved"]


def test_what_says_nothing_and_what_we_said_is_no_topic():
    ours = ReviewComment("specbot", "`meta[1]` can spill", ours=True)
    assert find_topics([thread(ReviewComment("ann", "LGTM")), thread(ours, ANSWER), thread()]) == ()


def test_code_quotes_and_hidden_text_are_not_quoted():
    body = (
        "<!-- marker -->\n> earlier words\n\nUse **this** [form](http://x):\n```python\nx = 1\n"
        "```\n"
    )
    assert quote(body) == "Use this form:"


@given(st.lists(st.tuples(st.text(), st.booleans(), st.booleans(), st.booleans()), max_size=6))
def test_any_text_gives_topics_with_known_kinds_and_states(
    said: list[tuple[str, bool, bool, bool]],
):
    made = find_topics(
        [
            thread(ReviewComment("a", text, by_author=who), resolved=r, outdated=o)
            for text, who, r, o in said
        ]
    )
    assert len(made) <= len(said)
    for topic in made:
        assert topic.kind in KINDS
        assert topic.state in STATES
        assert 0 < len(topic.opening.text) <= 280
