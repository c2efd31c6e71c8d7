"""Bodies and templates as Markdown."""

from __future__ import annotations

import pytest

from checks.core.config import load
from checks.core.tree import MemoryTree
from checks.domain.pull_text.markdown import boxes, split, strip_comments, tick, written
from checks.domain.pull_text.template import find_template, listed_tags


@pytest.mark.parametrize(
    "text",
    [
        "## Why\na\n## What\nb",
        "Why\n===\na\nWhat\n---\nb",
        "**Why**\na\n\n__What__:\nb",
        "Why:\na\nWHAT\nb",
        "# 1. Why\na\n#### 2. What we change\nb",
        "## :bulb: Why\r\na\r\n##What\r\nb",
    ],
)
def test_known_sections_in_many_forms(text: str) -> None:
    found = split(text, ["Why", "What"])
    assert [s.name for s in found] == ["Why", "What"]
    assert [written(s.lines)[-1] for s in found] == ["a", "b"]


def test_unknown_headings_below_a_section_belong_to_it() -> None:
    found = split("intro\n## Why\n### detail\n# Other\nx", ["Why"])
    assert [(s.name, s.lines) for s in found] == [
        ("", ("intro",)),
        ("Why", ("### detail",)),
        ("Other", ("x",)),
    ]


def test_a_word_is_no_heading() -> None:
    assert [s.name for s in split("Why not?\n#12 is open\n", ["Why"])] == [""]


def test_fences_hide_headings_and_keep_comments() -> None:
    text = "## A\n```\n## B\n<!-- kept -->\n```\n`<!-- kept -->`\n<!-- gone\n## C\n-->\n## D\n"
    assert [s.name for s in split(text)] == ["A", "D"]
    assert strip_comments(text).count("kept") == 2


def test_boxes_are_read_and_ticked() -> None:
    text = "- [ ] a\n* [X] b\n  1. [x] c\n- [] d\n• e\n<!-- - [x] f -->\n"
    assert [(b.text, b.ticked) for b in boxes(text)] == [("a", False), ("b", True), ("c", True)]
    assert tick("  - [ ] a [x]", True) == "  - [x] a [x]"
    assert tick("* [X] b", False) == "* [ ] b"


@pytest.mark.parametrize(
    "line", ["", "-", "...", "<!-- x -->", "### only a heading", "TODO", "待补充", "---"]
)
def test_what_says_nothing(line: str) -> None:
    assert written([line]) == []


@pytest.mark.parametrize("line", ["N/A", "无", "![a](b)", "<img src='a'>", "a", "- a"])
def test_what_says_something(line: str) -> None:
    assert written([line]) == [line]


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("- Tag list: [`[A]`,`[B C]`, `[D]`]", ("A", "B C", "D")),
        ("Use [A], [B], [C] or [A].", ("A", "B", "C")),
        ("Tags: `a`, `b`, `c`", ("a", "b", "c")),
        ("- `[A]` for x.\n- `[B]` for y\n- [C] for z", ("A", "B", "C")),
        ("See [a](b), [c](d), [e](f).", ()),
        ("- [ ] a\n- [x] b\n- [ ] c", ()),
        ("Such as [Cherry-Pick][CI] x", ()),
        ("", ()),
    ],
)
def test_tag_lists(text: str, tags: tuple[str, ...]) -> None:
    assert listed_tags(text) == tags


def paths(*names: str, body: str = "") -> str:
    files = {n: f"## {n}\n" for n in names}
    return find_template(MemoryTree(files), load(None), body).path


def test_the_template_is_found_where_github_looks() -> None:
    assert paths(".github/pull_request_template.md") == ".github/pull_request_template.md"
    assert paths(".github/PULL_REQUEST_TEMPLATE.md") == ".github/PULL_REQUEST_TEMPLATE.md"
    assert paths("docs/Pull_Request_Template.txt") == "docs/Pull_Request_Template.txt"
    assert paths("PULL_REQUEST_TEMPLATE") == "PULL_REQUEST_TEMPLATE"
    assert paths("src/pull_request_template.md") == ""
    assert paths("pull_request_template.md", ".github/pull_request_template.md").startswith(
        ".github/"
    )
    folder = ".github/PULL_REQUEST_TEMPLATE/"
    assert paths(f"{folder}a.md") == f"{folder}a.md"
    assert paths(f"{folder}a.md", f"{folder}b.md") == ""
    assert paths(f"{folder}a.md", f"{folder}b.md", body=f"## {folder}b.md\n") == f"{folder}b.md"


def test_the_configured_template_wins() -> None:
    tree = MemoryTree(
        {"x.md": "## A\n## B\n- [ ] c\n", ".github/pull_request_template.md": "## C\n"}
    )
    found = find_template(tree, load('[description]\ntemplate = "x.md"\n'))
    assert (found.path, found.required) == ("x.md", ["A"])
    assert find_template(tree, load('[description]\ntemplate = "gone.md"\n')).required == []
