"""A title to paste for a pull request whose own needs work: from the overview, one that says what
the change does."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bot.i18n.catalog import Catalog
from checks.core.finding import Finding, Message
from checks.domain.pull_text.titles import says_nothing
from checks.summary.changes.names import last_part

# Characters of a title's words, without tags and reference: longer ones no list of commits shows.
_LONGEST = 80
_CHINESE = re.compile("[\u4e00-\u9fff]")
# What became of one variable says nothing without the function that it is in.
_OF_A_VARIABLE = ("rewrite-value", "rewrite-part", "set-local")
# Arguments that are names, which a title has without their classes.
_NAMES = ("name", "names", "parts")


def content_title(finding: Finding, headline: Sequence[Message]) -> str:
    """The title that the rule `convention.title` proposes, with what the change does in it.

    It is in the language of the author's words. Empty where the overview has nothing that is short
    enough, and where the author's words name it already.
    """
    args = finding.message.args
    own = str(args["words"])
    lead, ending = str(args["lead"]), str(args["ending"])
    words = Catalog("zh" if _CHINESE.search(own) else "en")
    for message in headline:
        phrases = _phrases(message, words)
        if any(name in own for phrase in phrases for name in _names_in(phrase)):
            return ""
        for text in _texts(own, phrases, words):
            if len(text) <= _LONGEST:
                return f"{lead} {text}{ending}".strip()
    return ""


def _texts(own: str, phrases: Sequence[str], words: Catalog) -> Iterator[str]:
    """The author's words before what changed, where they say something; then that alone."""
    if not says_nothing(own):
        for phrase in phrases:
            yield words("titles.both", own=own, phrase=phrase)
    yield from phrases


def _phrases(message: Message, words: Catalog) -> list[str]:
    """A part of the overview in a few words: with the functions that it is about, and without."""
    key = f"titles.{message.key}"
    if not words.knows(key):
        return []
    args = _without_owners(message.args)
    functions = args.get("names") or [args.get("name")]
    shown = [functions] if message.key in _OF_A_VARIABLE else [functions, []]
    return [words(key, **args | {"functions": names}) for names in shown]


def _without_owners(args: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments, with `method` for `Class.method`."""
    short = dict(args)
    for key in _NAMES:
        value = args.get(key)
        if isinstance(value, str):
            short[key] = last_part(value)
        elif value is not None:
            short[key] = [last_part(name) for name in value]
    return short


def _names_in(phrase: str) -> list[str]:
    """Words of the phrase that can only be names of code: `forward_xpu`, `GatherNextToken`."""
    words = re.findall(r"\w+", phrase)
    return [word for word in words if "_" in word or re.search(r"[a-z][A-Z]", word)]
