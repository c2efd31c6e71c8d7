"""`specbot rules`: the list of rules, or one rule's page."""

from __future__ import annotations

import argparse
import inspect

from bot.configuration import nearest
from bot.errors import UserError
from bot.files import write_output
from bot.i18n.catalog import Catalog
from checks.core.check import Check
from checks.registry import RULES, rule


def run(args: argparse.Namespace) -> int:
    """Print every rule with its summary, or the page of the one named."""
    words = Catalog(args.lang)
    if args.id is None:
        write_output(_list(words), None)
        return 0
    found = rule(args.id)
    if found is None:
        raise UserError("unknown-rule", name=args.id, near=nearest(args.id, (r.ID for r in RULES)))
    write_output(_page(found, words), None)
    return 0


def _list(words: Catalog) -> str:
    widest = max((len(r.ID) for r in RULES), default=0)
    return "".join(f"{r.ID:<{widest}}  {words.summary(r.ID)}\n" for r in RULES)


def _page(check: Check, words: Catalog) -> str:
    """The rule's docstring is its documentation; the summary comes in the reader's language."""
    doc = inspect.cleandoc(check.__doc__ or "")
    return f"{check.ID}\n\n{words.summary(check.ID)}\n\n{doc}\n"
