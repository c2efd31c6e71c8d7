"""A rule's documentation, which is its docstring, as the body of a page."""

from __future__ import annotations

import html
import re
import textwrap
from collections.abc import Iterator

from bot.reports.blocks import Block, Code, Heading, Items, Text

_PARAGRAPHS = re.compile(r"\n{2,}")
_FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.S | re.M)
_ITEM = re.compile(r"^- ", re.M)


def parse_blocks(text: str) -> Iterator[Block]:
    """Headings, paragraphs, lists and code, fenced or indented, of our own Markdown, in order."""
    at = 0
    for code in _FENCED.finditer(text):
        yield from _prose(text[at : code.start()])
        yield Code(tuple(code[2].removesuffix("\n").split("\n")), code[1])
        at = code.end()
    yield from _prose(text[at:])


def _prose(text: str) -> Iterator[Block]:
    for part in _PARAGRAPHS.split(text.strip("\n")):
        said = html.escape(part, quote=False)
        if part.startswith("## "):
            yield Heading(2, said.removeprefix("## "))
        elif part.startswith("- "):
            yield Items(tuple(" ".join(item.split()) for item in _ITEM.split(said)[1:]))
        elif part.startswith("    "):
            yield Code(tuple(textwrap.dedent(part).split("\n")))
        elif part:
            yield Text(" ".join(said.split()))
