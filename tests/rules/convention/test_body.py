"""The description to paste: the template's structure, the author's words, facts, honest ticks."""

from __future__ import annotations

import difflib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.i18n.catalog import Catalog
from bot.reports.paste_blocks import paste_text
from checks.core.change import ChangeSet, FileChange, Hunk, PullRequest
from checks.core.config import load
from checks.core.tree import MemoryTree
from checks.domain.pull_text.markdown import box_text
from checks.rules.convention import description
from checks.rules.convention._body import propose_description
from checks.rules.convention._draft import Draft

TEMPLATE = """<!-- Thank you. -->

## Motivation

<!-- Why? -->

## Modifications

## Usage or Command

## Accuracy Tests

## Checklist

- [ ] Add a tag in the title.
  - Tag list: `[OP]`, `[BugFix]`, `[Docs]`
- [ ] Run `pre-commit`.
- [ ] Add unit tests, or say why not.
- [ ] Provide accuracy results.
"""
BASE = {
    "ops/save.cc": """#define WIDTH 4
void Save(int* out, int flag) {
  out[1] = flag;
  for (int k = 0; k < WIDTH; k++) {
    out[k] = k;
  }
}
""",
    "tests/test_save.py": "def test_save():\n    assert save(1)[1] == 1\n",
    "engine/old.py": "def gone(a):\n    return a\n",
}
HEAD = {
    "ops/save.cc": """#define WIDTH 5
void Save(int* out, int flag, int width) {
  out[1] = flag | (width << 8);
  int shown = width + 1;
  for (int k = 0; k < width; k++) {
    out[k] = k;
  }
}
""",
    "tests/test_save.py": "def test_save():\n    assert save(1)[1] == 1025\n",
    "engine/new.py": "def fresh(a, b=1):\n    return a\n",
}


def change(base: dict[str, str], head: dict[str, str], title: str, body: str) -> ChangeSet:
    files = []
    for path in sorted(base.keys() | head.keys()):
        old, new = base.get(path), head.get(path)
        if old == new:
            continue
        matcher = difflib.SequenceMatcher(
            None, (old or "").splitlines(), (new or "").splitlines(), autojunk=False
        )
        hunks = tuple(
            Hunk(a + (b > a), b - a, c + (d > c), d - c)
            for tag, a, b, c, d in matcher.get_opcodes()
            if tag != "equal"
        )
        status = "A" if old is None else "D" if new is None else "M"
        files.append(
            FileChange(
                status, path if old is not None else None, path if new is not None else None, hunks
            )
        )
    template = {".github/pull_request_template.md": TEMPLATE}
    pull = PullRequest(title, body, target_branch="main", known=True)
    return ChangeSet(MemoryTree(base | template), MemoryTree(head | template), tuple(files), pull)


def body(
    text: str, *, base: dict[str, str] = BASE, head: dict[str, str] = HEAD, language: str = "en"
) -> str:
    config = load('[paths]\nsources = ["ops/**", "engine/**"]\n[title]\nrequire_tag = true\n')
    return paste_text(
        propose_description(Draft(change(base, head, "[OP] widen the word", text), config)),
        Catalog(language),
    )


def test_an_empty_description_is_filled_with_facts() -> None:
    assert (
        body("")
        == """## Motivation

widen the word

Touches `engine/`, `ops/`, `tests/`.

## Modifications

- `engine/new.py` (new): adds `fresh`
- `engine/old.py` (deleted): removes `gone`
- `ops/save.cc`: changes `Save`
  - parameters of `Save`: adds `int width`
  - constant `WIDTH`: `#define WIDTH 4` becomes `#define WIDTH 5`
  - `out[1]` was `flag`, is `flag | (width << 8)`
  - the loop over `k` was `int k = 0; k < WIDTH; k++`, is `int k = 0; k < width; k++`
  - new `int shown`, set to `width + 1`
- `tests/test_save.py`: changes `test_save`

## Usage or Command

```bash
python -m pytest tests/test_save.py
```

## Accuracy Tests

TODO: accuracy before and after, or why `fresh`, `Save` leave model outputs as they are

## Checklist

- [x] Add a tag in the title.
  - Tag list: `[OP]`, `[BugFix]`, `[Docs]`
- [ ] Run `pre-commit`.
- [x] Add unit tests, or say why not.
- [ ] Provide accuracy results.
"""
    )


def test_a_new_test_is_added_and_not_changed() -> None:
    old = BASE["tests/test_save.py"]
    added = "\n\ndef test_width():\n    assert width() == 5\n"
    made = body(
        "", head={**HEAD, "tests/test_save.py": old + added, "tests/test_new.py": added.lstrip()}
    )
    assert "- `tests/test_new.py` (new): adds `test_width`\n" in made
    assert "- `tests/test_save.py`: adds `test_width`\n" in made


def test_the_words_follow_the_language_and_the_rest_does_not() -> None:
    made = body("", language="zh")
    assert "- `ops/save.cc`：修改 `Save`\n" in made
    assert "`out[1]` 由 `flag` 改为 `flag | (width << 8)`" in made
    assert "- [x] Add a tag in the title.\n" in made


def test_the_authors_text_is_kept_word_for_word() -> None:
    own = "Odd  *spacing*, a|b, <b>html</b>\n\n```python\n# x\n```\n- [link](u)"
    made = body(
        f"Before.\n\n**Motivation**\n{own}\n\n## Modifications\n<!-- -->\n\n## Rollout\n\nslowly\n"
    )
    assert made.startswith(f"Before.\n\n## Motivation\n\n{own}\n\n## Modifications\n\n- `engine")
    assert "\n## Rollout\n\nslowly\n\n## Checklist\n" in made


def test_text_without_headings_goes_under_the_first() -> None:
    assert body("It overflowed.\n\nSo it is wider.").startswith(
        "## Motivation\n\nIt overflowed.\n\nSo it is wider.\n\n## Modifications\n"
    )


def test_ticks_are_kept_unless_the_facts_speak_against_them() -> None:
    ticked = TEMPLATE.replace("[ ]", "[x]").split("## Checklist")[1]
    made = body(
        f"## Checklist{ticked}", head={**HEAD, "tests/test_save.py": BASE["tests/test_save.py"]}
    )
    assert "- [x] Run `pre-commit`." in made
    assert "- [ ] Add unit tests" in made
    assert "- [ ] Provide accuracy" in made


def test_accuracy_results_tick_their_box() -> None:
    made = body("## Accuracy Tests\n0.81 before, 0.81 after\n")
    assert "- [x] Provide accuracy results." in made
    assert "- [ ] Provide accuracy results." in body("## Accuracy Tests\nN/A\n")


def test_a_change_of_prose_affects_no_output() -> None:
    made = body("", base={"a.md": "x\n"}, head={"a.md": "y\n"})
    assert "## Usage or Command\n\nN/A (no product code is changed)\n" in made
    assert "N/A (no product code is changed, so model outputs stay as they are)" in made
    assert "- `a.md`: +1 −1 lines\n" in made


@pytest.mark.parametrize("text", ["", "## Motivation\nx\n", "Plain.", "## Rollout\n\nslowly\n"])
def test_pasted_as_it_is_only_what_the_author_knows_is_open(text: str) -> None:
    config = load('[paths]\nsources = ["ops/**", "engine/**"]\n')
    once = body(text)
    again = change(BASE, HEAD, "[OP] widen the word", once)
    assert [f.message.args["empty"] for f in description.run(again, config)] == [
        ("Accuracy Tests",)
    ]
    assert body(once) == once


MIXED = """## Purpose

## Test Result

---
<details>
<summary>Before you merge</summary>

- [ ] The purpose is clear.
- [ ] The tests are listed.
</details>
"""


def test_boxes_in_a_section_of_text_stay_and_do_not_fill_it() -> None:
    text = MIXED.replace("## Purpose", "## Purpose\n\nwider").replace("[ ]", "[x]")
    base = BASE | {".github/pull_request_template.md": MIXED}
    made = ChangeSet(MemoryTree(base), MemoryTree(base), (), PullRequest("x", text, known=True))
    config = load(None)
    assert [f.message.args["empty"] for f in description.run(made, config)] == [("Test Result",)]
    proposed = paste_text(propose_description(Draft(made, config)), Catalog("en"))
    assert proposed.startswith("## Purpose\n\nwider\n\n## Test Result\n\nN/A")
    assert (
        "<summary>Before you merge</summary>\n\n- [x] The purpose is clear.\n"
        "- [x] The tests are listed.\n</details>\n"
    ) in proposed


_HEADINGS = [
    "## Motivation",
    "**Modifications**",
    "Usage or Command",
    "# Own heading",
    "### below",
    "## Checklist",
]
_TEXTS = [
    "text",
    "N/A",
    "TODO",
    "",
    "```",
    "~~~",
    "<!-- hidden -->",
    "<!-- open",
    "-->",
    "Motivation\n===",
]
_BOXES = ["- [x] Run `pre-commit`.", "- [ ] own box", "• Provide accuracy results."]
_LINES = st.lists(st.sampled_from(_HEADINGS + _TEXTS + _BOXES) | st.text(max_size=12), max_size=12)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(_LINES)
def test_whatever_the_author_wrote_stays(lines: list[str]) -> None:
    text = "\n".join(lines)
    config = load('[paths]\nsources = ["ops/**"]\n')
    written = Draft(change(BASE, HEAD, "[OP] x", text), config)
    proposed = str(propose_description(written))
    for line in written.own_lines:
        # A box of the template appears in the checklist with its own mark.
        assert (
            line in proposed or box_text(line) in written.template.boxes or is_title(line, written)
        )


def is_title(line: str, written: Draft) -> bool:
    """A heading in bold or bare is written as the template writes it."""
    return any(section.title == line for section in written.sections)
