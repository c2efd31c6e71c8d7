"""A rule's page: what it does, why it matters, an example, and its known limits.

The English page is the rule's docstring. The Chinese one is `templates/rules/<rule id>.zh.md`, once
somebody has written it.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass

from bot.i18n.catalog import TEMPLATES, Catalog
from checks.core.check import Check


@dataclass(frozen=True, slots=True)
class RulePage:
    """The Markdown of a rule's page, and the language that it is written in."""

    text: str
    language: str


def rule_page(check: Check, language: str) -> RulePage:
    """The rule's page in `language`, in English where nobody has translated it."""
    translation = TEMPLATES / "rules" / f"{check.ID}.{language}.md"
    if translation.is_file():
        return RulePage(translation.read_text("utf-8").rstrip("\n"), language)
    return RulePage(inspect.cleandoc(check.__doc__ or ""), "en")


def page_with_note(check: Check, words: Catalog) -> str:
    """The Markdown of the page; a sentence above it says so where it is not translated."""
    page = rule_page(check, words.language)
    if page.language == words.language:
        return page.text
    return words("cli.rule-untranslated") + "\n\n" + page.text
