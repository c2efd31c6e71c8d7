"""A rule's page comes in the reader's language, and says the same in each."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import bot.i18n.rule_pages
from bot.i18n.catalog import TEMPLATES, Catalog
from bot.i18n.rule_pages import page_with_note, rule_page
from checks.registry import RULES, rule

SECTIONS = {
    "What it does": "检查内容",
    "Why it matters": "为什么重要",
    "Example": "示例",
    "Known limits": "已知局限",
}
# Fenced, or indented as in the pages of conventions.
CODE = re.compile(r"^```(?s:.*?)^```$|^(?: {4}.*\n?)+", re.MULTILINE)
SPAN = re.compile(r"`[^`]+`")
# Pull requests (#7884) and commits (5fc12eddf).
SOURCE = re.compile(r"#\d+|\b(?=[0-9a-f]*\d)[0-9a-f]{9}\b")
TRANSLATIONS = sorted((TEMPLATES / "rules").glob("*.zh.md"))
CHINESE = "[\u4e00-\u9fff]"
MARK = "[，。、：；？！（）“”]"


def english(path: Path) -> str:
    check = rule(path.name.removesuffix(".zh.md"))
    assert check is not None, "no rule has this id"
    return rule_page(check, "en").text


def sections(text: str) -> list[str]:
    return re.findall(r"^## (.*)$", text, re.MULTILINE)


def prose(text: str) -> str:
    return CODE.sub("", text)


def spans(text: str) -> set[str]:
    """The code spans; a line of the docstring may end within one."""
    return {" ".join(span.split()) for span in SPAN.findall(prose(text))}


@pytest.mark.parametrize("path", TRANSLATIONS, ids=lambda path: path.name)
def test_a_chinese_page_says_the_same(path):
    chinese, original = path.read_text("utf-8"), english(path)
    assert sections(chinese) == [SECTIONS[title] for title in sections(original)]
    assert has_opening(chinese) == has_opening(original)
    assert [c.strip() for c in CODE.findall(chinese)] == [c.strip() for c in CODE.findall(original)]
    assert spans(chinese) == spans(original)
    assert set(SOURCE.findall(prose(chinese))) == set(SOURCE.findall(prose(original)))


def has_opening(text: str) -> bool:
    return not text.startswith("## ")


@pytest.mark.parametrize("path", TRANSLATIONS, ids=lambda path: path.name)
def test_a_chinese_page_is_well_set(path):
    # A code span is set off as a foreign word is.
    text = SPAN.sub("x", prose(path.read_text("utf-8")))
    for wrong in (
        rf"{CHINESE} +{CHINESE}",  # a stray blank
        rf" {MARK}|{MARK} ",
        rf"{CHINESE}[A-Za-z0-9]|[A-Za-z0-9]{CHINESE}",  # a blank too few
        rf"{CHINESE}[,;:!?.()]|[,;:!?()]{CHINESE}",  # a Latin mark
    ):
        assert not (found := re.search(wrong, text)), found
    for paragraph in text.strip().split("\n\n"):
        line = paragraph.strip("\n")
        assert "\n" not in line, "a paragraph is one line"
        assert not line or line.startswith("## ") or line.endswith("。"), line


def test_a_page_without_translation_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr(bot.i18n.rule_pages, "TEMPLATES", tmp_path)
    for check in RULES:
        text = page_with_note(check, Catalog("zh"))
        assert text.startswith("本页尚无中文译文，以下为英文。\n\n") and "## What it does" in text
        assert "中文" not in page_with_note(check, Catalog("en"))
