"""The site as MkDocs takes it: the written pages, and beside them those made from the code."""

from __future__ import annotations

import shutil
from pathlib import Path

from bot.i18n.catalog import Catalog
from bot.i18n.rule_pages import page_with_note
from checks.core.check import Check
from checks.registry import RULES
from tests.site.reference import ROOT, SCHEMAS, Words, pages

SOURCES = ROOT / "templates/site"


def write_site(folder: Path) -> None:
    """The site's sources in `folder`, as MkDocs takes them."""
    shutil.copytree(SOURCES, folder, dirs_exist_ok=True)
    reference = folder / "pages/reference"
    (reference / "rules").mkdir(parents=True, exist_ok=True)
    for language, ending in (("en", "md"), ("zh", "zh.md")):
        words = Catalog(language)
        (reference / f"rules.{ending}").write_text(rules_page(words), "utf-8")
        for rule in RULES:
            page = documented_rule(rule, words)
            (reference / "rules" / f"{rule.ID}.{ending}").write_text(page, "utf-8")
        for name, text in pages(Words(language)).items():
            (reference / f"{name}.{ending}").write_text(text, "utf-8")
    (reference / "schema").mkdir(exist_ok=True)
    for path in SCHEMAS.glob("*.json"):
        shutil.copy(path, reference / "schema")


def rules_page(words: Catalog) -> str:
    """The list of rules."""
    title, rule, finds = words("pages.rules"), words("pages.rule"), words("pages.finds")
    rows = [f"| [`{rule.ID}`](rules/{rule.ID}.md) | {words.summary(rule.ID)} |" for rule in RULES]
    return "\n".join([f"# {title}", "", f"| {rule} | {finds} |", "|---|---|", *rows]) + "\n"


def documented_rule(rule: Check, words: Catalog) -> str:
    """A rule's page; its first sentence stands under the title already."""
    return f"# {rule.ID}\n\n{page_with_note(rule, words)}\n"
