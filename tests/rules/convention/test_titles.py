"""Titles: their parts, the nearest tags, and the title proposed in their place."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checks.core.change import ChangeSet, FileChange, Hunk, PullRequest
from checks.core.config import Config, load
from checks.core.tree import MemoryTree
from checks.domain.pull_text.titles import is_slip, nearest, parse
from checks.rules.convention._draft import draft
from checks.rules.convention._tags import belongs, choose_tags, path_words, propose_tag

TAGS = (
    "Engine",
    "Speculative Decoding",
    "OP",
    "KVCache",
    "BugFix",
    "Optimization",
    "Feature",
    "Docs",
    "CI",
    "XPU",
)
CONFIG = f"""
[title]
tags = {list(TAGS)}
require_tag = true
[branches]
release = ["release/*"]
[[hardware]]
name = "xpu"
marks = ["xpu"]
"""


def change(title: str, *paths: str, branch: str = "main", body: str = "") -> ChangeSet:
    files = {p: "x\n" for p in paths}
    changes = tuple(FileChange("A", None, p, (Hunk(0, 0, 1, 1),)) for p in sorted(files))
    pull = PullRequest(title, body, target_branch=branch, known=True)
    return ChangeSet(MemoryTree({}), MemoryTree(files), changes, pull)


def better(title: str, *paths: str, branch: str = "main", body: str = "", most: int = 1) -> str:
    config = load(CONFIG.replace("require_tag", f"most_tags = {most}\nrequire_tag"))
    return draft(change(title, *paths, branch=branch, body=body), config).better_title


@pytest.mark.parametrize(
    ("text", "tags", "words", "ending", "numbers"),
    [
        ("[BugFix] fix it", ("BugFix",), "fix it", "", ()),
        ("[Cherry-Pick][OP]opt it(#12)", ("Cherry-Pick", "OP"), "opt it", "(#12)", (12,)),
        ("[A, B]: x (#1) (#2)", ("A", "B"), "x", " (#1) (#2)", (1, 2)),
        ("[A] x #7", ("A",), "x", " #7", (7,)),
        ("x (#7) y", (), "x (#7) y", "", (7,)),
        ("[A] see [B] (#3, #4)", ("A",), "see [B]", " (#3, #4)", (3, 4)),
        ("【OP】x", ("OP",), "x", "", ()),
        ("【No.5】x", (), "【No.5】x", "", ()),
        ("  ", (), "", "", ()),
        ("[]x", (), "[]x", "", ()),
    ],
)
def test_the_parts_of_a_title(
    text: str, tags: tuple[str, ...], words: str, ending: str, numbers: tuple[int, ...]
) -> None:
    title = parse(text, TAGS)
    assert (title.tags, title.words, title.ending, title.numbers) == (tags, words, ending, numbers)


@pytest.mark.parametrize(
    ("tag", "wanted", "slip"),
    [
        ("bugfix", "BugFix", True),
        ("Bug Fix", "BugFix", True),
        ("fix", "BugFix", True),
        ("Optim", "Optimization", True),
        ("Speculate Decoding", "Speculative Decoding", True),
        ("Kunlun XPU", "XPU", False),
        ("Mascot", "", False),
    ],
)
def test_the_nearest_tag(tag: str, wanted: str, slip: bool) -> None:
    assert (nearest(tag, TAGS), is_slip(tag, TAGS)) == (wanted, slip)


@pytest.mark.parametrize(
    ("path", "tag", "does"),
    [
        ("engine/spec_decode/ngram.py", "Speculative Decoding", True),
        ("ops/gpu_ops/speculate_decoding/save.cc", "Speculative Decoding", True),
        ("engine/scheduler.py", "Speculative Decoding", False),
        ("ops/gpu_ops/save.cc", "OP", True),
        ("engine/options.py", "OP", False),
        ("engine/kv_cache/block.py", "KVCache", True),
        ("engine/worker/xpu_model_runner.py", "XPU", True),
        ("README.md", "Docs", True),
        (".github/workflows/a.yml", "CI", True),
    ],
)
def test_which_tag_a_path_belongs_to(path: str, tag: str, does: bool) -> None:
    assert bool(belongs(path_words(path, load(CONFIG)), tag)) == does


def test_of_too_many_tags_the_one_of_the_change_stays() -> None:
    share = {"OP": 0.2, "Speculative Decoding": 0.9}
    assert choose_tags(["Optimization", "OP", "Speculative Decoding"], TAGS, share, 1) == [
        "Speculative Decoding"
    ]
    assert choose_tags(["Optimization", "OP", "Speculative Decoding"], TAGS, share, 2) == [
        "OP",
        "Speculative Decoding",
    ]
    assert choose_tags(["Mascot", "OP"], TAGS, {"Mascot": 1.0}, 1) == ["OP"]
    assert choose_tags(["Optimization", "BugFix"], TAGS, {}, 1) == ["Optimization"]


@pytest.mark.parametrize(
    ("words", "share", "only", "tag"),
    [
        ("fix a crash", {"OP": 0.9}, "", "BugFix"),
        ("fix a crash", {"XPU": 1.0}, "", "XPU"),
        ("fix a test", {}, "ci", "CI"),
        ("修复溢出", {}, "", "BugFix"),
        ("rework", {"OP": 0.9}, "", "OP"),
        ("rework", {"OP": 0.3}, "", ""),
    ],
)
def test_a_tag_for_a_title_without(
    words: str, share: dict[str, float], only: str, tag: str
) -> None:
    assert propose_tag(words, TAGS, share, only) == tag


@pytest.mark.parametrize(
    ("title", "branch", "body", "wanted"),
    [
        ("[BugFix]mask it", "main", "", "[BugFix] mask it"),
        ("mask it, fix overflow", "main", "", "[BugFix] mask it, fix overflow"),
        ("[bugfix][op] mask it", "main", "", "[OP] mask it"),
        ("mask it", "release/1", "pick of #12", "[Cherry-Pick][OP] mask it (#12)"),
        ("[OP][cherry pick] mask (#12) it", "release/1", "", "[Cherry-Pick][OP] mask it (#12)"),
        ("[OP] mask it", "release/1", "see #12 and #13", "[Cherry-Pick][OP] mask it (#NNNN)"),
        (
            "[OP] mask it",
            "release/1",
            "https://example.org/o/r/pull/12",
            "[Cherry-Pick][OP] mask it (#12)",
        ),
        ("[Cherry-Pick][OP] mask it(#12)", "main", "", "[Cherry-Pick][OP] mask it(#12)"),
        ("[OP] mask it (#NNNN)", "release/1", "", "[Cherry-Pick][OP] mask it (#NNNN)"),
        ("[Cherry-Pick 2.5][OP] mask it(#12)", "release/1", "", "[Cherry-Pick][OP] mask it(#12)"),
        ("[[Cherry-Pick][OP] mask it(#12)", "release/1", "", "[Cherry-Pick][OP] mask it(#12)"),
        ("[OP]", "main", "", ""),
    ],
)
def test_the_title_to_paste(title: str, branch: str, body: str, wanted: str) -> None:
    assert better(title, "ops/gpu_ops/save.cc", branch=branch, body=body) == wanted


def test_the_configured_number_of_tags_stays() -> None:
    assert better("[OP][BugFix][Docs] x", "ops/save.cc", most=2) == "[OP][BugFix] x"


def test_without_a_tag_list_every_tag_is_known() -> None:
    made = draft(change("[A][B] x", "ops/save.cc"), Config())
    assert made.official_tags == ["A", "B"]
    assert made.better_title == "[A] x"


def test_what_was_made_for_one_text_is_not_taken_for_another() -> None:
    first = change("[A] x", "ops/save.cc")
    second = replace(first, pull=replace(first.pull, title="[B] y"))
    assert [draft(c, Config()).title.words for c in (first, second, first)] == ["x", "y", "x"]
