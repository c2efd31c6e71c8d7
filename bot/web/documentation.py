"""A rule's documentation as the body of a page."""

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
        yield from _prose_blocks(text[at : code.start()])
        lines = code[2].removesuffix("\n").split("\n")
        yield Code(tuple(lines), code[1])
        at = code.end()
    yield from _prose_blocks(text[at:])


def _prose_blocks(text: str) -> Iterator[Block]:
    for paragraph in _PARAGRAPHS.split(text.strip("\n")):
        if paragraph:
            yield _block(paragraph)


def _block(paragraph: str) -> Block:
    escaped = html.escape(paragraph, quote=False)
    if paragraph.startswith("## "):
        return Heading(2, escaped.removeprefix("## "))
    if paragraph.startswith("- "):
        items = _ITEM.split(escaped)[1:]
        return Items(tuple(" ".join(item.split()) for item in items))
    if paragraph.startswith("    "):
        return Code(tuple(textwrap.dedent(paragraph).split("\n")))
    return Text(" ".join(escaped.split()))
