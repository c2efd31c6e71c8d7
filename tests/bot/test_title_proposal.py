"""A title to paste that says what the change does, from the overview."""

from __future__ import annotations

import pytest

OLD = """def pack(message_flag, columns):
    return message_flag
"""
NEW = """def pack(message_flag, columns):
    return message_flag | columns << 8
"""
CONFIG = '[title]\nrequire_tag = true\ntags = ["BugFix", "Optimization", "Docs"]\n'


@pytest.fixture
def packed(repo):
    repo.commit({"engine/pack.py": OLD, ".specbot.toml": CONFIG})
    repo.commit({"engine/pack.py": NEW}, "Pack")
    return repo


def proposed(specbot, repo, title, language="en"):
    """The titles that the review proposes, in their order."""
    args = ("--base", "HEAD~", "--format", "markdown", "--fail-on", "never", "--title", title)
    text = specbot("review", "--repo", repo.path, "--lang", language, *args).out
    lead = {"en": "ready to paste:\n\n```\n", "zh": "直接复制）：\n\n```\n"}[language]
    return [part.partition("\n")[0] for part in text.split(lead)[1:]]


CONTENT = "pack returns message_flag | columns << 8, not message_flag"


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        # Two tags: the words stay, and get what changed.
        (
            "[BugFix][Docs] opt logprob",
            ["[BugFix] opt logprob", f"[BugFix] opt logprob: {CONTENT}"],
        ),
        # Words that fit any change are left out, and so are none.
        ("[BugFix] fix bug", [f"[BugFix] {CONTENT}"]),
        ("[BugFix]", [f"[BugFix] {CONTENT}"]),
        # The author's words are kept in their language.
        (
            "优化传输",
            [
                "[Optimization] 优化传输",
                "[Optimization] 优化传输：pack 返回 message_flag | columns << 8，而不是 message_flag",
            ],
        ),
        # What does not fit beside long words stands alone.
        (
            "Speed up how the meta data of logprobs goes to the engine process",
            [
                "[Optimization] Speed up how the meta data of logprobs goes to the engine process",
                f"[Optimization] {CONTENT}",
            ],
        ),
    ],
)
def test_a_title_that_needs_work_gets_content(specbot, packed, title, expected):
    assert proposed(specbot, packed, title) == expected
    assert proposed(specbot, packed, title, "zh") == expected


def test_a_title_that_is_right_gets_none(specbot, packed):
    assert proposed(specbot, packed, "[BugFix] Send the number of columns") == []


def test_nothing_is_said_where_the_overview_has_nothing(specbot, packed):
    packed.commit({"notes.bin": "x" * 3}, "Notes")
    assert proposed(specbot, packed, "[Docs] update") == []


def test_a_variable_is_named_with_its_function(specbot, packed):
    counting = "def count(rows):\n    total = len(rows)\n    return send(total)\n"
    packed.commit({"engine/count.py": counting})
    packed.commit({"engine/count.py": counting.replace("len(rows)", "2 * len(rows)")}, "Count")
    expected = ["[BugFix] total is 2 * len(rows), not len(rows), in count"]
    assert proposed(specbot, packed, "[BugFix] fix bug") == expected


def test_words_that_name_the_change_get_no_more(specbot, packed):
    packed.commit({"engine/pack.py": NEW.replace("def pack", "def pack_flag")}, "Rename")
    assert proposed(specbot, packed, "[BugFix][Docs] Call it pack_flag")[1:] == []


@pytest.mark.parametrize(
    ("after", "content"),
    [
        ({"engine/pack.py": "", "engine/bits.py": OLD}, "move pack to engine/bits.py"),
        ({"engine/pack.py": None, "worker/pack.py": OLD}, "move pack.py to worker"),
        ({"engine/pack.py": None, "engine/bits.py": OLD}, "rename pack.py to bits.py"),
    ],
)
def test_code_that_stands_elsewhere(specbot, repo, after, content):
    repo.commit({"engine/pack.py": OLD, ".specbot.toml": CONFIG})
    repo.commit(after, "Elsewhere")
    assert proposed(specbot, repo, "[BugFix] fix bug") == [f"[BugFix] {content}"]
