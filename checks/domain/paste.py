"""Text for an author to paste: a title, and a body in the structure of the template.

A `Paste` mixes the author's and the template's own lines, kept word for word, with sentences about
facts, which stand in `templates/rules/convention.toml`. Whoever prints it gives it a way to say a
message in the reader's language, written as GitHub Markdown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from checks.core.finding import Message

PENDING = "TODO: "
"""Stands before what only the author can fill in; a section with nothing else counts as empty."""


@dataclass(frozen=True, slots=True)
class PasteLine:
    """A sentence on a line of its own; `lead` stands before it as it is (`- ` for a list item)."""

    message: Message
    lead: str = ""


@dataclass(frozen=True, slots=True)
class Paste:
    """The parts of a text: a `str` is verbatim (it may hold line ends), a `PasteLine` is said in
    the reader's language."""

    parts: tuple[str | PasteLine, ...]

    def text(self, say: Callable[[Message], str]) -> str:
        """The whole text, ending in one line end, `say` giving the sentence of a message."""
        lines = []
        for part in self.parts:
            if isinstance(part, str):
                lines.append(part)
            else:
                lines.append(part.lead + say(part.message))
        return "\n".join(lines).strip("\n") + "\n"

    def __str__(self) -> str:
        """The text with each message as its key and arguments: for logs and tests, not for
        people."""
        return self.text(_keys_and_arguments)


def _keys_and_arguments(message: Message) -> str:
    return " ".join([message.key, *(f"{name}={value}" for name, value in message.args.items())])
