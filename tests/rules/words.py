"""The English sentence of a message as plain text, for expectations about its words."""

from __future__ import annotations

from bot.i18n.catalog import Catalog
from checks.core.finding import Message


def sentence(rule_id: str, message: Message) -> str:
    """What `message` says in English.

    Raises LookupError where a report would fall back on the bare key, be it in what is said of the
    message beside, or in Chinese: the words have no such key, or need an argument that the rule
    did not give.
    """
    english = Catalog("en")
    for words in (english, Catalog("zh")):
        for say in (words.message, words.detail, words.advice):
            text = say(rule_id, message)
            if text.startswith(f"`{rule_id}/{message.key}"):
                raise LookupError(
                    f"templates/rules/{rule_id}.toml cannot say {message.key!r}: {text}"
                )
    return english.message(rule_id, message)
