"""`specbot rules`: the list of rules, or one rule's page."""

from __future__ import annotations

import argparse

from bot.errors import UserError
from bot.files import write_output
from bot.i18n.catalog import Catalog
from bot.i18n.rule_pages import page_with_note
from checks.core.check import Check
from checks.core.near_names import nearest_name
from checks.core.rule_ids import GONE, ids_meant
from checks.registry import RULES, rule


def run(args: argparse.Namespace) -> int:
    """Print every rule with its summary, or the page of the one named."""
    words = Catalog(args.lang)
    text = _list(words) if args.id is None else _page_or_new_ids(args.id, words)
    write_output(text, None)
    return 0


def _list(words: Catalog) -> str:
    widest = max(len(rule.ID) for rule in RULES)
    lines = [f"{rule.ID:<{widest}}  {words.summary(rule.ID)}\n" for rule in RULES]
    return "".join(lines)


def _page_or_new_ids(name: str, words: Catalog) -> str:
    """The page of the rule `name`, or where that is an old id, what its rules are called now.

    Raises `UserError` for a rule that is gone, and for a name that no rule has or had.
    """
    found = rule(name)
    if found is not None:
        return _page(found, words)
    known = [rule.ID for rule in RULES]
    new_ids = ids_meant(name, known)
    if name in GONE:
        raise UserError("rule-gone", name=name)
    if not new_ids:
        raise UserError("unknown-rule", name=name, near=nearest_name(name, known))
    return words("cli.rule-renamed", old=name, new=new_ids) + "\n"


def _page(check: Check, words: Catalog) -> str:
    return f"{check.ID}\n\n{words.summary(check.ID)}\n\n{page_with_note(check, words)}\n"
